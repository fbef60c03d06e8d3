"""The cliff of a tolerance
========================

Jaccard counts a detection as found or not, by a tolerance. A nanometre beyond it everything changes; a nanometre
before it nothing does. The Flat Metric has no such cliff.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

frame = np.arange(1, 101)
truth = {"frame": frame, "x": np.full(100, 3000.0), "y": np.full(100, 3000.0)}
shifts = np.linspace(0, 400, 41)
scores = [fm.score(truth, truth | {"x": truth["x"] + shift}, check=False) for shift in shifts]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharex=True)
left.plot(shifts, [score.challenge.jaccard for score in scores])
left.set_ylabel("Jaccard [%]")
right.plot(shifts, [score.flat_metric.value for score in scores])
right.set_ylabel("Flat Metric [nm]")
for axes in (left, right):
    axes.axvline(250, color="0.6", linestyle=":")
    axes.set_xlabel("error of every detection [nm]")
