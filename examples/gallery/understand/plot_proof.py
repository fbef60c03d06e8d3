"""The proof beside the number
===========================

Beside its plan the solver gives a function f between -lam and lam whose slope is at most 1. Truth minus result, weighed
by f, is a lower bound for every plan; here it meets the cost of the plan, so both are optimal.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

truth = np.array([[0.0], [180.0], [520.0], [900.0]])
pred = np.array([[40.0], [150.0], [640.0]])
lam = 100.0
result = fm.flat_metric(truth, pred, lam=lam)

# %%
# Between its known values f may be any function of slope at most 1 within these limits; the largest is drawn.

places = np.concatenate([truth, pred])
known = np.concatenate([result.truth_potential, result.pred_potential])
x = np.linspace(-150, 1050, 601)
f = np.minimum(lam, (known[:, None] + np.abs(x - places)).min(axis=0))

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.axhspan(-lam, lam, color="0.95")
axes.plot(x, f, color="0.5", linewidth=1)
axes.plot(truth[:, 0], result.truth_potential, "o", label="truth")
axes.plot(pred[:, 0], result.pred_potential, "s", label="result")
axes.set_xlabel("x [nm]")
axes.set_ylabel("f [nm]")
axes.legend()

# %%

bound = (result.truth_potential.sum() - result.pred_potential.sum()) / len(truth)
print(f"cost of the plan {result.value:.3f} nm, bound by f {bound:.3f} nm, gap {result.gap:.1e} nm")
