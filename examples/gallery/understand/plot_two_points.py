"""Two points: the whole metric in one line
========================================

One true point, one detection at distance d. Moving costs d; giving up both costs 2 lam. So the Flat Metric is the
smaller of the two: it rises with the distance, and is flat from 2 lam on.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

lam = 125.0
distances = np.linspace(0, 400, 81)
values = [fm.flat_metric([[0.0]], [[d]], lam=lam).value for d in distances]

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(distances, values, label="Flat Metric")
axes.axvline(2 * lam, color="0.6", linestyle=":", label="2 lam")
axes.set_xlabel("distance of the detection [nm]")
axes.set_ylabel("Flat Metric [nm]")
axes.legend()

# %%
# It is the closed form of the paper, to the last digit.

print(np.abs(np.array(values) - np.minimum(distances, 2 * lam)).max())
