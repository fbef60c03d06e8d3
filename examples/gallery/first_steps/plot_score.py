"""Score a result
==============

Two files, one number, and where it comes from. Both files are part of the package: a simulated truth, and what a
localizer made of its images.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm
from flatmetric.plots.error_budget import error_budget

data = Path(fm.__file__).parent / "data"
score = fm.score(data / "demo_truth.csv", data / "demo_baseline.csv")
score

# %%
# The Flat Metric is the sum of three parts, in nanometres for each true molecule: found but displaced, missed, and
# false. Most of this result's error is what it did not find.

flat = score.flat_metric
print(f"{flat.value:.1f} nm = {flat.displaced:.1f} displaced + {flat.missed:.1f} missed + {flat.false:.1f} false")

figure, axes = plt.subplots(figsize=(7, 1.8), layout="constrained")
error_budget(axes, {"baseline": score})

# %%
# What would help most:

for advice in score.advice:
    print(advice)
