"""Figures: each function takes a result and Axes, draws, and returns the Axes."""
