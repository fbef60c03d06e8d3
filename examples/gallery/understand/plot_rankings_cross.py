"""Rankings that depend on lambda
==============================

One program finds everything, but not very precisely. The other is precise and finds two thirds. Which one is better
is a question of what you need, and lambda asks it: the curves cross once.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm
from flatmetric.plots.lambda_curve import lambda_curves

rng = np.random.default_rng(7)
frame = np.repeat(np.arange(1, 201), 5)
x, y = rng.uniform(0, 6400, (2, frame.size))
truth = {"frame": frame, "x": x, "y": y}


def blurred(rows: np.ndarray, precision: float) -> dict[str, np.ndarray]:
    """The true rows, displaced by `precision` nm along each axis."""
    dx, dy = rng.normal(0, precision, (2, rows.size))
    return {"frame": frame[rows], "x": x[rows] + dx, "y": y[rows] + dy}


everything = np.arange(frame.size)
results = {
    "complete": blurred(everything, 32.0),
    "precise": blurred(np.sort(rng.permutation(everything)[: 2 * frame.size // 3]), 10.0),
}
curves = {name: fm.score(truth, result).curve(lam_max=250) for name, result in results.items()}

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
lambda_curves(axes, curves)

# %%
# ``compare`` says who leads where:

lead = fm.compare(truth, results).lead()
for (a, b), places in lead.crossings.items():
    print(f"{a} and {b} cross at", ", ".join(f"{lam:.1f} nm" for lam in places))
