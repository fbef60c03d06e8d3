"""What each lambda can tell apart
===============================

Three programs: a reference, one that is 15 % less precise, and one that misses five molecules more in a hundred. For
every lambda: how many standard errors of 1000 frames lie between each of the two and the reference? The larger, the
fewer frames are needed to tell them apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import flatmetric as fm

rng = np.random.default_rng(12)
sigma = 20.0  # precision along each axis, nm
frames = 10_000  # more than 1000, so that chance does not draw the curves
frame = np.repeat(np.arange(1, frames + 1), 4)
truth = rng.uniform(0, 6400, (frame.size, 2))


def costs(precision: float, recall: float, lam: float, seed: int) -> np.ndarray:
    """What each frame costs, nm, for a program of this precision and recall, with some false detections."""
    draw = np.random.default_rng(seed)
    error = draw.normal(0, precision, truth.shape)
    found = draw.random(frame.size) < recall
    false = draw.random(frame.size) < 0.05
    pred = np.concatenate([(truth + error)[found], draw.uniform(0, 6400, (false.sum(), 2))])
    pred_frames = np.concatenate([frame[found], frame[false]])
    plan = fm.flat_metric(truth, pred, lam=lam, truth_frames=frame, pred_frames=pred_frames)
    return plan.frames.value


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Standard errors on 1000 frames by which the other program is worse than the one."""
    return float((other.mean() - one.mean()) / np.sqrt((one.var() + other.var()) / 1000))


lams = sigma * np.geomspace(0.5, 20, 17)
precise, complete = [], []
for lam in lams:
    reference = costs(sigma, 0.85, lam, 1)
    precise.append(distance(reference, costs(1.15 * sigma, 0.85, lam, 2)))
    complete.append(distance(reference, costs(sigma, 0.80, lam, 3)))

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axes.plot(lams / sigma, precise, marker=".", label="15 % less precise")
axes.plot(lams / sigma, complete, marker=".", label="misses 5 more of 100")
axes.axvspan(3, 7, color="0.92", label="3 to 7 times the precision")
axes.set_xscale("log")
axes.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
axes.set_xlabel("lambda / precision along one axis")
axes.set_ylabel("standard errors worse")
axes.axhline(0, color="0.6", linewidth=0.8)
axes.legend()

# %%
# A small lambda sees precision; below 1.25 times the precision it even rewards what is missed. A large one sees what is
# missed and, among those large costs, hardly the precision. Between three and seven times both are seen. With other
# differences than 15 and 5 % the two curves meet elsewhere.
for times in (1, 5, 20):
    place = int(np.argmin(np.abs(lams - times * sigma)))
    print(f"lam {times:2d} x precision: {precise[place]:.1f} and {complete[place]:.1f} standard errors")
