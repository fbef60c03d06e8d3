"""How sure a score is, which program is better, and who ranks where."""
