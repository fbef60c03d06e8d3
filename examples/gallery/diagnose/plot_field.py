"""Missed molecules over the field
===============================

Everything in one picture, what was missed marked; and the share that was missed, square by square. A blind border or a
corner out of focus is seen at once.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm
from flatmetric.plots.rendering import missed_share, rendering

data = Path(fm.__file__).parent / "data"
score = fm.score(data / "demo_truth.csv", data / "demo_dog.csv")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
rendering(left, score, "truth")
missed_share(right, score)
