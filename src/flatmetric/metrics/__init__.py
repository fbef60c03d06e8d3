"""Metrics: small pure functions, each with a typed result."""
