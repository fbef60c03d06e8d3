"""flatmetric against its peers, regime by regime: python -m benchmarks, or make bench."""
