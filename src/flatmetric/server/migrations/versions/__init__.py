"""One module for each change."""
