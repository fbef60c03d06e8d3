"""Metrics: each a small pure function on two tables, with one typed result."""
