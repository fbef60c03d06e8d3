"""Scripts that make what the documentation shows: run each from the repository, as a module."""
