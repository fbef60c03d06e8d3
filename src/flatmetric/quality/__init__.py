"""Checks for errors in a file, and a summary of what is in it."""
