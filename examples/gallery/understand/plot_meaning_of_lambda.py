"""What lambda means
=================

Lambda is the price, in nanometres, of a molecule that is missed and of a detection that is false. A detection is
moved to a molecule as long as the way is shorter than twice that price.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm
from flatmetric.plots.transport_map import transport_map

truth = np.array([[200.0, 300.0], [600.0, 300.0], [1000.0, 300.0], [1400.0, 300.0]])
pred = np.array([[220.0, 300.0], [600.0, 400.0], [1230.0, 300.0]])  # 20, 100 and 170 nm from the next molecule

figure, panels = plt.subplots(3, 1, figsize=(7, 5), layout="constrained", sharex=True)
for axes, lam in zip(panels, (25, 75, 125), strict=True):
    result = fm.flat_metric(truth, pred, lam=lam)
    transport_map(axes, truth, pred, result.pairs.truth, result.pairs.pred)
    axes.set_xlim(100, 1500)
    axes.set_ylim(500, 200)
    axes.set_title(f"lam {lam} nm: {result.value:.1f} nm, {len(result.pairs.truth)} of 4 molecules found")

# %%
# A small lambda asks for precision: what is not near does not count as found. A large one forgives displacement and
# asks whether the molecules were found at all.
