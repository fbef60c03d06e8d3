"""Depth that counts less
======================

In most 3D methods axial errors are larger than lateral ones. ``axis_scale`` says how much they should count.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(6)
truth = rng.uniform([0, 0, -400], [6400, 6400, 400], (300, 3))
pred = truth + rng.normal(0, [15, 15, 60], truth.shape)

scales = np.linspace(0.1, 1, 10)
values = [fm.flat_metric(truth, pred, lam=125, axis_scale=(1, 1, scale)).value for scale in scales]

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(scales, values, marker="o")
axes.set_xlabel("weight of an axial nanometre")
axes.set_ylabel("Flat Metric [nm]")
axes.set_ylim(0)
