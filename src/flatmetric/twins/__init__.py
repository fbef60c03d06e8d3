"""Simulated movies with known truth that are like a real one."""
