"""The Wasserstein distance
========================

Without a limit, and with equal masses, the Flat Metric is the 1-Wasserstein distance: every point is moved, wherever it
must go.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import flatmetric as fm

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 400)
ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.normal(1000, 40, (400, 1))
cloud = rng.normal(0, 250, (400, 2))

result = fm.flat_metric(ring, cloud, lam=math.inf)
print(f"{result.value:.2f} nm, gap {result.gap:.1e}")

# %%

figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
ways = np.stack([ring[result.pairs.truth], cloud[result.pairs.pred]], axis=1)
axes.add_collection(LineCollection(list(ways), colors="0.8", linewidths=0.7))
axes.plot(*ring.T, ".", markersize=4)
axes.plot(*cloud.T, ".", markersize=4)
axes.set_aspect("equal")
