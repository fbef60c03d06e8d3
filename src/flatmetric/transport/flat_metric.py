"""The Flat Metric between two weighted point sets, exact and with its proof."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from flatmetric._core import BeyondLimitError, Method, UnequalMassesError, solve
from flatmetric._validation import (
    PointSet,
    check_coordinates,
    point_sets,
    positive_length,
    thread_count,
    unequal_masses,
)
from flatmetric.errors import InputError
from flatmetric.transport.result import FlatResult, FrameParts, Pairs


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
    """Flat Metric between true and predicted points: one number in nm, its three parts, its plan and its proof.

    Parameters
    ----------
    truth : (n, D) array-like
        True positions in nm, D = 1, 2, 3, ...
    pred : (m, D) array-like
        Predicted positions in nm; may be empty, and then everything is missed.
    lam : float
        Cost in nm of leaving a unit of mass unmatched; nothing is moved further than ``2 * lam``. ``math.inf``
        gives the 1-Wasserstein distance and needs equal masses (in every frame, if there are frames).
    truth_weights, pred_weights : (n,) and (m,) array-likes, optional
        Masses, used as given; both or neither. Without them every point weighs 1/n, n the number of true points, as in
        the paper, so that the value reads "nm per true molecule".
    truth_frames, pred_frames : (n,) and (m,) arrays of integers, optional
        Frame numbers; both or neither. Points of different frames are infinitely far apart. The weights stay 1/n with
        n the number of all true points, so the frames' contributions add up to the value.
    axis_scale : (D,) array-like, optional
        Factor for each coordinate before distances are taken; ``(1, 1, 0.5)`` makes axial errors count half.
    threads : int, optional
        Number of threads to spread the frames over; all cores by default. The result is bit-identical for any number.
    method : {"exact", "lp"}
        "lp" solves the paper's linear program as written, with HiGHS: slow, for checking and teaching on small sets.

    Returns
    -------
    FlatResult
        ``value == displaced + missed + false`` in nm; ``gap`` proves it.

    Raises
    ------
    TypeError, ValueError
        One sentence that names the argument, the place, the value and the fix.

    Notes
    -----
    With masses a, b and pi >= 0 the plan::

        FM = min  sum pi[i, j] d(x[i], y[j]) + lam (true mass left) + lam (pred mass left)
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
    lam = positive_length(lam, "lam")
    workers = thread_count(threads)
    truth_set, pred_set = point_sets(truth, pred, truth_weights, pred_weights, truth_frames, pred_frames, axis_scale)
    if method == "exact":
        return solve_exactly(truth_set, pred_set, lam, workers)
    if method == "lp":
        from flatmetric.transport.lp import solve_lp

        check_coordinates(truth_set.coords, pred_set.coords)
        return solve_lp(truth_set, pred_set, lam)
    raise ValueError(f'method is {method!r}; give "exact" or "lp"')


def solve_exactly(
    truth: PointSet, pred: PointSet, lam: float, threads: int, core_method: Method = Method.automatic
) -> FlatResult:
    """The core's result for validated point sets, in nm; tests set `core_method` to check each method on its own."""
    # Without weights the core gives every point mass 1; the paper's weights are 1/n.
    divisor = 1 if truth.masses is not None else len(truth.coords)
    try:
        solution = solve(
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
    except BeyondLimitError as error:
        check_coordinates(truth.coords, pred.coords)  # raises an error that names the row
        raise InputError("truth or pred changed while it was read; give arrays that stay as they are") from error
    except UnequalMassesError as error:
        frame, truth_mass, pred_mass = error.args
        what = "mass" if truth.masses is not None else "point count"
        where = "" if truth.frames is None else f" in frame {frame}"
        raise unequal_masses(what, truth_mass, pred_mass, where) from None
    frames = None
    if (parts := solution.frames) is not None:
        frames = FrameParts(
            frame=parts.frame,
            n_truth=parts.n_truth,
            n_pred=parts.n_pred,
            displaced=parts.displaced,
            missed=parts.missed,
            false=parts.false,
            lower_bound=parts.lower_bound,
        )
    mass = solution.pair_mass
    if mass is None:  # points of equal weight are moved whole: one number, seen as a column
        mass = np.ndarray(len(solution.pair_truth), np.float64, np.array(1 / divisor), strides=(0,))
        mass.flags.writeable = False
    return FlatResult(
        lam=lam,
        displaced=solution.displaced,
        missed=solution.missed,
        false=solution.false,
        lower_bound=solution.lower_bound,
        pairs=Pairs(solution.pair_truth, solution.pair_pred, mass, solution.pair_distance),
        truth_potential=solution.truth_potential,
        pred_potential=solution.pred_potential,
        frames=frames,
    )
