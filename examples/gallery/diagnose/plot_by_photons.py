"""Dim molecules, bright molecules
===============================

Where is the error? Scores in bins of photons show it for most programs at once.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm

data = Path(fm.__file__).parent / "data"
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for name in ("baseline", "dog"):
    bins = fm.score(data / "demo_truth.csv", data / f"demo_{name}.csv").by("photons", bins=8)
    photons = (bins["low"] + bins["high"]) / 2
    left.plot(photons, bins["recall"], marker="o", label=name)
    right.plot(photons, bins["flat_metric"], marker="o", label=name)
left.set_ylabel("recall")
right.set_ylabel("Flat Metric [nm]")
for axes in (left, right):
    axes.set_xlabel("photons of the molecule")
left.legend()
