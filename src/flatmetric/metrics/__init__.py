"""Metrics: one module for each family, one table of them all."""
