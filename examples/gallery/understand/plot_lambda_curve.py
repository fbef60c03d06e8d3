"""The Flat Metric for every lambda at once
========================================

One sweep gives the exact curve. It is concave, and its slope is the mass that is not moved: beyond its last
breakpoint a larger lambda changes only the price of what is missed and false.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm
from flatmetric.plots.lambda_curve import lambda_curves

data = Path(fm.__file__).parent / "data"
score = fm.score(data / "demo_truth.csv", data / "demo_baseline.csv")
curve = score.curve(lam_max=250)
curve

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
lambda_curves(left, {"baseline": curve}, lam=125)
right.step(curve.lam, curve.slope, where="post")
right.set_xlabel("lam [nm]")
right.set_ylabel("unmoved mass per molecule")
right.set_ylim(0)
