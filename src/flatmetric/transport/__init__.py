"""The Flat Metric itself: between two point sets, for every lam, and as the paper's linear program."""
