"""Jaccard, RMSE, efficiency and the Flat Metric
=============================================

A result that misses more and more, and one that is displaced more and more. Jaccard sees only the first, RMSE only the
second; efficiency is a root of their squares, with a weight; the Flat Metric adds up costs in nanometres.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(3)
frame = np.repeat(np.arange(1, 101), 5)
x, y = rng.uniform(0, 6400, (2, frame.size))
dx, dy = rng.normal(size=(2, frame.size))
order = rng.permutation(frame.size)
truth = {"frame": frame, "x": x, "y": y}


def scored(recall: float, precision: float) -> fm.Score:
    """The score of a result that finds a share `recall` with a standard error of `precision` nm."""
    kept = np.sort(order[: int(recall * frame.size)])
    found = {"frame": frame[kept], "x": (x + precision * dx)[kept], "y": (y + precision * dy)[kept]}
    return fm.score(truth, found, check=False)


recalls, precisions = np.linspace(0.1, 1, 10), np.linspace(1, 60, 10)
missing = [scored(recall, 20) for recall in recalls]
moving = [scored(0.9, precision) for precision in precisions]
keys = {
    "challenge.jaccard": "Jaccard [%]",
    "challenge.rmse_xy": "RMSE [nm]",
    "challenge.efficiency": "efficiency [%]",
    "flat_metric.value": "Flat Metric [nm]",
}

figure, panels = plt.subplots(2, 4, figsize=(9, 4), layout="constrained", sharey="col")
for column, (key, name) in enumerate(keys.items()):
    panels[0, column].plot(recalls, [score.get(key) for score in missing], marker=".")
    panels[1, column].plot(precisions, [score.get(key) for score in moving], marker=".")
    panels[0, column].set_title(name)
    panels[0, column].set_xlabel("recall")
    panels[1, column].set_xlabel("precision [nm]")
