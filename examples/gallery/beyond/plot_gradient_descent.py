"""Follow the gradient
===================

The plan is also the gradient: a moved point wants to go straight to its partner. Detections that follow it end up on
the molecules; one that is further than 2 lam from any would stay where it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(11)
truth = rng.uniform(0, 2000, (12, 2))
pred = truth + rng.normal(0, 110, truth.shape)
lam, step = 125.0, 8.0

ways, values = [pred.copy()], []
for _ in range(50):
    plan = fm.flat_metric(truth, pred, lam=lam)
    values.append(plan.value)
    there, here = plan.pairs.truth, plan.pairs.pred
    direction = truth[there] - pred[here]
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    pred[here] += direction * np.minimum(1, step / np.maximum(length, 1e-9))
    ways.append(pred.copy())

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(*np.array(ways).transpose(2, 0, 1), color="0.6", linewidth=1)
left.plot(*truth.T, "o", fillstyle="none", markersize=9, label="truth")
left.plot(*pred.T, ".", label="result, after 50 steps")
left.set_aspect("equal")
left.legend()
right.plot(values)
right.set_xlabel("step")
right.set_ylabel("Flat Metric [nm]")
