"""The front door: what the package does, with the same options for Python and for the command line."""
