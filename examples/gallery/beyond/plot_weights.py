"""Points that weigh more
======================

Masses of your own: here photons, so that losing a bright molecule costs more than losing a dim one. Equal photons on
both sides cost only the distance.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(8)
truth = rng.uniform(0, 3000, (30, 2))
photons = rng.lognormal(7, 0.8, 30)
order = np.argsort(photons)


def without(rows: np.ndarray) -> tuple[float, float]:
    """Flat Metric without these molecules: all alike, and by photons."""
    left = np.delete(np.arange(30), rows)
    alike = fm.flat_metric(truth, truth[left], lam=125).value
    share = photons / photons.sum()
    return alike, fm.flat_metric(truth, truth[left], lam=125, truth_weights=share, pred_weights=share[left]).value


counts = np.arange(0, 16)
dim = np.array([without(order[:count]) for count in counts])
bright = np.array([without(order[::-1][:count]) for count in counts])

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(counts, dim[:, 0], color="0.6", label="all alike")
axes.plot(counts, bright[:, 1], label="by photons, brightest missed")
axes.plot(counts, dim[:, 1], label="by photons, dimmest missed")
axes.set_xlabel("molecules missed, of 30")
axes.set_ylabel("Flat Metric [nm]")
axes.legend()
