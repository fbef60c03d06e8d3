"""Who is compared with whom: the protocol, the matching, and its outcome."""
