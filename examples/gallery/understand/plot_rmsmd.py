"""What the nearest neighbour does not see
=======================================

RMSMD takes the distance from every point to the nearest of the other side. Who has been counted already does not
matter: a program that reports everything three times looks as good as one that reports it once.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(2)
truth = rng.uniform(0, 6400, (60, 2))
once = truth + rng.normal(0, 15, truth.shape)


def table(points: np.ndarray) -> dict[str, np.ndarray]:
    """Points of one frame."""
    return {"frame": np.ones(len(points), int), "x": points[:, 0], "y": points[:, 1]}


def times(count: int) -> np.ndarray:
    """Every detection `count` times, a little apart."""
    return np.repeat(once, count, axis=0) + rng.normal(0, 2, (60 * count, 2))


counts = np.arange(1, 6)
scores = [fm.score(table(truth), table(times(count)), check=False) for count in counts]

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(counts, [score.rmsmd.per_frame for score in scores], marker="o", label="RMSMD")
axes.plot(counts, [score.flat_metric.value for score in scores], marker="o", label="Flat Metric")
axes.set_xticks(counts)
axes.set_xlabel("times that each molecule is reported")
axes.set_ylabel("nm")
axes.legend()
