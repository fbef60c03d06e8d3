"""Whether a file is right at all, and what is in it."""
