"""Confidence intervals of scores, comparisons of programs, and rankings."""
