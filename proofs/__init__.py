"""Simulations that say how often the verdicts hold; `python -m proofs` runs them and writes their tables into docs."""
