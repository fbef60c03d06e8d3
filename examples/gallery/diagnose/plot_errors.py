"""Bias and spread of the errors
=============================

A cloud that is not centred is a bias; a cloud that is longer than wide, or has a tail, asks for a reason.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm
from flatmetric.plots.errors import error_histogram, error_scatter

data = Path(fm.__file__).parent / "data"
score = fm.score(data / "demo_truth.csv", data / "demo_baseline.csv")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
error_scatter(left, score)
error_histogram(right, score, axis=0)
