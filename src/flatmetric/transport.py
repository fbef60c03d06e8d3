"""The Flat Metric between two weighted point sets, exact and with its proof."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from flatmetric import _core, arguments
from flatmetric.arguments import PointSet
from flatmetric.result import FlatResult, FrameParts, Pairs


def flat_metric(
    truth: npt.ArrayLike,
    pred: npt.ArrayLike,
    *,
    lam: float,
    truth_weights: npt.ArrayLike | None = None,
    pred_weights: npt.ArrayLike | None = None,
    truth_frames: npt.ArrayLike | None = None,
    pred_frames: npt.ArrayLike | None = None,
    axis_scale: npt.ArrayLike | None = None,
    threads: int | None = None,
    method: Literal["exact", "lp"] = "exact",
) -> FlatResult:
    """Flat Metric between true and found points: one number in nm, its three parts, its plan and its proof.

    Parameters
    ----------
    truth : (n, D) array-like
        True positions in nm, D = 1, 2, 3, ...
    pred : (m, D) array-like
        Found positions in nm. It may be empty: then everything is missed.
    lam : float
        Cost in nm of leaving a unit of mass where it is; nothing is ever carried further than ``2 * lam``. ``math.inf``
        gives the 1-Wasserstein distance and needs equal masses (in every frame, if there are frames).
    truth_weights, pred_weights : (n,) and (m,) array-likes, optional
        Masses, used as given; both or neither. Without them every point weighs 1/n, n the number of true points, as in
        the paper, so that the value reads "nm per true molecule".
    truth_frames, pred_frames : (n,) and (m,) arrays of integers, optional
        Frame numbers; both or neither. Points of different frames are infinitely far apart. The weights stay 1/n with
        n the number of all true points, so the frames' contributions add up to the value.
    axis_scale : (D,) array-like, optional
        Factor for each coordinate before distances are taken, e.g. ``(1, 1, 0.5)`` to count axial errors half.
    threads : int, optional
        Threads over which frames are spread; all cores by default. It never changes a bit of the answer.
    method : {"exact", "lp"}
        "lp" solves the paper's linear program literally by HiGHS: slow and for small sets, to check and to teach.

    Returns
    -------
    FlatResult
        ``value == displaced + missed + false`` in nm; ``gap`` proves it.

    Raises
    ------
    TypeError, ValueError
        One sentence with the argument, the place, what was found and the way to mend it.

    Notes
    -----
    With masses a, b and pi >= 0 the plan::

        FM = min  sum pi[i, j] d(x[i], y[j]) + lam (true mass left) + lam (found mass left)
           = max  sum a[i] f(x[i]) - sum b[j] f(y[j])   over  |f| <= lam,  f 1-Lipschitz

    Denoyelle et al., Optimal-transport-based metric for SMLM, ISBI 2021.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = [[100, 100], [500, 100], [900, 100]]
    >>> pred = [[103, 104], [500, 100], [100, 900]]
    >>> r = fm.flat_metric(truth, pred, lam=120)
    >>> print(f"{r.value:.2f} = {r.displaced:.2f} + {r.missed:.2f} + {r.false:.2f}")
    81.67 = 1.67 + 40.00 + 40.00
    >>> r.pairs.truth.tolist(), r.pairs.pred.tolist()
    ([0, 1], [0, 1])
    """
    lam = arguments.positive_length(lam, "lam")
    thread_count = arguments.thread_count(threads)
    truth_set, pred_set = arguments.point_sets(
        truth, pred, truth_weights, pred_weights, truth_frames, pred_frames, axis_scale
    )
    if method == "exact":
        return solve_exactly(truth_set, pred_set, lam, thread_count)
    if method == "lp":
        from flatmetric import reference

        arguments.refuse_beyond(truth_set.coords, pred_set.coords)
        return reference.solve_lp(truth_set, pred_set, lam)
    raise ValueError(f'method is {method!r}; give "exact" or "lp"')


def solve_exactly(
    truth: PointSet, pred: PointSet, lam: float, threads: int, core_method: _core.Method = _core.Method.automatic
) -> FlatResult:
    """The core's answer for checked point sets, in nm; `core_method` is for proving each of its methods by itself."""
    # The core gives every point mass 1 where there are no weights; the paper's weights are 1/n.
    divisor = 1 if truth.masses is not None else len(truth.coords)
    out = _core.solve(
        truth.coords,
        pred.coords,
        truth.masses,
        pred.masses,
        truth.frames,
        pred.frames,
        lam,
        divisor,
        core_method,
        threads,
    )
    if "beyond_limit" in out:
        arguments.refuse_beyond(truth.coords, pred.coords)
    if "unequal_masses" in out:
        truth_mass, pred_mass = out["unequal_masses"]
        what = "mass" if truth.masses is not None else "point count"
        where = "" if truth.frames is None else f" in frame {out['frame']}"
        raise arguments.unequal_masses(what, truth_mass, pred_mass, where)
    frames = None
    if truth.frames is not None:
        frames = FrameParts(
            frame=out["frame"],
            n_truth=out["frame_n_truth"],
            n_pred=out["frame_n_pred"],
            displaced=out["frame_displaced"],
            missed=out["frame_missed"],
            false=out["frame_false"],
            lower_bound=out["frame_lower_bound"],
        )
    mass = out["pair_mass"]
    if mass is None:  # points that weigh the same are moved whole: one number, seen as a column
        mass = np.ndarray(len(out["pair_truth"]), np.float64, np.array(1 / divisor), strides=(0,))
        mass.flags.writeable = False
    return FlatResult(
        lam=lam,
        displaced=out["displaced"],
        missed=out["missed"],
        false=out["false"],
        lower_bound=out["lower_bound"],
        pairs=Pairs(out["pair_truth"], out["pair_pred"], mass, out["pair_distance"]),
        truth_potential=out["truth_potential"],
        pred_potential=out["pred_potential"],
        frames=frames,
    )
