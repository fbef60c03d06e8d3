"""Is the claimed precision true?
==============================

Many programs write down how precise each localization is. Where the truth is known, the claim can be tested: error
over claimed precision should have a standard deviation of 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(4)
frame = np.repeat(np.arange(1, 401), 3)
x, y = rng.uniform(0, 6400, (2, frame.size))
claimed = rng.uniform(6, 20, frame.size)
dx, dy = rng.normal(0, 1.6 * claimed, (2, frame.size))  # in truth 1.6 times as large
truth = {"frame": frame, "x": x, "y": y}
pred = {"frame": frame, "x": x + dx, "y": y + dy, "uncertainty": claimed}

score = fm.score(truth, pred)
print(f"errors are {score.calibration.xy:.2f} times as large as claimed")

# %%

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(dx / claimed, bins=50, density=True, color="0.75", label="error / claimed, x")
z = np.linspace(-6, 6, 201)
axes.plot(z, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), label="as claimed")
axes.set_xlabel("error / claimed precision")
axes.legend()
