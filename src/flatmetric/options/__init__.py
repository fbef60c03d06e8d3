"""Every option, written once: its type, default, help and metavar."""
