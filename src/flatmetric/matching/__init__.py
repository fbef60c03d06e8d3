"""What is compared with what: the protocol, the matching and its result."""
