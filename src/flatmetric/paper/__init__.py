"""The experiments of Denoyelle et al., Optimal-transport-based metric for SMLM, ISBI 2021: a module for each figure."""
