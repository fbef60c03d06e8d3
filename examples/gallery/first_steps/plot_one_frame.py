"""One frame, with its transport plan
==================================

The number is explained by a plan: which detection goes to which molecule, which molecules are missed (plus), which
detections are false (cross).
"""

from pathlib import Path

import matplotlib.pyplot as plt

import flatmetric as fm
from flatmetric.plots.transport_map import frame_map

data = Path(fm.__file__).parent / "data"
score = fm.score(data / "demo_truth.csv", data / "demo_dog.csv")

# %%
# The frame that costs most:

frames = score.per_frame()
worst = int(frames.loc[frames["flat_metric_share_nm"].idxmax(), "frame"])

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
frame_map(axes, score, worst)

# %%
# The same as a table: what each row is, and what it costs.

rows = score.per_molecule()
rows[rows["frame"] == worst]
