"""From molecules to a score
=========================

Images with known truth, a localizer, and how well it did: a challenge in ten lines.
"""

import tempfile

import matplotlib.pyplot as plt
import tifffile

import flatmetric as fm
from flatmetric.plots.transport_map import frame_map

with tempfile.TemporaryDirectory() as folder:
    made = fm.simulate(dataset="MT4.N2.HD", frames=20, seed=1, out=f"{folder}/tubes")
    images = tifffile.imread(made.stack)
    found = fm.localize(made.stack, method="baseline")
    score = fm.score(made.truth, found)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.imshow(images[9], cmap="gray")
left.set_title("frame 10, as the camera sees it")
frame_map(right, score, 10)

# %%

score
