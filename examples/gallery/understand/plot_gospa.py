"""GOSPA is a relative
===================

With unit weights, order 1 and a cutoff of 2 lam, GOSPA is the Flat Metric times the number of molecules. Higher
orders punish single large errors more, and are no longer nanometres for each molecule.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(5)
truth = {"frame": np.ones(40, int), "x": rng.uniform(0, 6400, 40), "y": rng.uniform(0, 6400, 40)}
error = rng.normal(0, 25, 40)
error[0] = 180.0  # one large error
pred = truth | {"x": truth["x"] + error}

first = fm.score(truth, pred, check=False)
print(f"GOSPA / molecules {first.gospa.value / 40:.6f} nm, Flat Metric {first.flat_metric.value:.6f} nm")

# %%
# The share of that one detection in GOSPA, as the order grows:

orders = np.linspace(1, 4, 13)
shares = [180.0**p / fm.score(truth, pred, gospa_p=p, check=False).gospa.value ** p for p in orders]

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(orders, shares, marker=".")
axes.set_xlabel("order of GOSPA")
axes.set_ylabel("share of the one large error")
axes.set_ylim(0, 1)
