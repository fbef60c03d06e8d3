"""The paper's linear program as written, solved with HiGHS: for checking the solver and for teaching."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._validation import PointSet, unequal_masses
from flatmetric.transport.result import FlatResult, FrameParts, Pairs

MAX_PAIRS = 250_000
"""Largest n * m of one frame that the dense program takes on: it has 2 n m rows."""

_TOLERANCE = 1e-10  # the tightest that HiGHS offers; relative, since the program is scaled to lam = 1
_DUST = 1e-13  # multipliers below this share of the total mass are rounding


def solve_lp(truth: PointSet, pred: PointSet, lam: float) -> FlatResult:
    """Flat Metric in nm by the discrete dual problem of the paper, frame by frame.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth, pred = [[0, 0], [900, 0]], [[3, 4]]
    >>> round(fm.flat_metric(truth, pred, lam=125, method="lp").value, 9)
    65.0
    """
    n = len(truth.coords)
    truth_masses = np.full(n, 1.0 / n) if truth.masses is None else truth.masses
    pred_masses = np.full(len(pred.coords), 1.0 / n) if pred.masses is None else pred.masses
    truth_potential = np.zeros(n)
    pred_potential = np.zeros(len(pred.coords))
    plans: list[tuple[IntArray, IntArray, FloatArray, FloatArray]] = []
    parts: list[tuple[int, int, int, float, float, float, float]] = []
    for frame, rows, columns in _frames(truth, pred):
        a, b = truth_masses[rows], pred_masses[columns]
        _check_solvable(a, b, lam, "" if truth.frames is None else f" in frame {frame}")
        distances = np.linalg.norm(truth.coords[rows][:, None, :] - pred.coords[columns][None, :, :], axis=2)
        lower_bound, f_truth, f_pred, plan = _solve_dual_program(distances, a, b, lam)
        truth_potential[rows], pred_potential[columns] = f_truth, f_pred
        i, j = np.nonzero(plan)
        plans.append((rows[i], columns[j], plan[i, j], distances[i, j]))
        left = 0.0 if math.isinf(lam) else lam
        missed = left * float(np.abs(a - plan.sum(axis=1)).sum())
        false = left * float(np.abs(b - plan.sum(axis=0)).sum())
        parts.append((frame, len(rows), len(columns), float((plan * distances).sum()), missed, false, lower_bound))
    pairs = Pairs(*(np.concatenate(column) for column in zip(*plans, strict=True)))
    numbers, n_truth, n_pred, *costs = (np.array(column) for column in zip(*parts, strict=True))
    displaced, missed, false, lower_bound = (float(cost.sum()) for cost in costs)
    return FlatResult(
        lam=lam,
        displaced=displaced,
        missed=missed,
        false=false,
        lower_bound=lower_bound,
        pairs=pairs,
        truth_potential=truth_potential,
        pred_potential=pred_potential,
        frames=None if truth.frames is None else FrameParts(numbers, n_truth, n_pred, *costs),
    )


def _frames(truth: PointSet, pred: PointSet) -> list[tuple[int, IntArray, IntArray]]:
    if truth.frames is None or pred.frames is None:
        return [(0, np.arange(len(truth.coords)), np.arange(len(pred.coords)))]
    if len(truth.frames) + len(pred.frames) == 0:
        return [(0, np.arange(0), np.arange(0))]
    return [
        (int(frame), np.flatnonzero(truth.frames == frame), np.flatnonzero(pred.frames == frame))
        for frame in np.union1d(truth.frames, pred.frames)
    ]


def _check_solvable(a: FloatArray, b: FloatArray, lam: float, where: str) -> None:
    n, m = len(a), len(b)
    if n * m > MAX_PAIRS:
        raise ValueError(
            f'method "lp" was asked for {n} x {m} points in one frame; its dense program takes at most '
            f'{MAX_PAIRS} pairs: use method "exact"'
        )
    if math.isinf(lam) and not math.isclose(a.sum(), b.sum(), rel_tol=1e-12):
        raise unequal_masses("mass", a.sum(), b.sum(), where)


def _solve_dual_program(
    distances: FloatArray, a: FloatArray, b: FloatArray, lam: float
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Maximise sum a f(x) - sum b f(y) over |f| <= lam and |f(x) - f(y)| <= d; the multipliers are the plan."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    n, m = distances.shape
    if n * m == 0:
        level = 0.0 if math.isinf(lam) else lam
        return level * float(a.sum() + b.sum()), np.full(n, level), np.full(m, -level), np.zeros((n, m))
    # Scaled to lam = 1 and to mass 1 of the heavier side, so that HiGHS's absolute tolerances are relative ones.
    length = lam if not math.isinf(lam) else float(distances.max()) or 1.0
    mass = max(float(a.sum()), float(b.sum())) or 1.0
    pair = np.arange(n * m)
    difference = coo_array(  # row (i, j): f(x_i) - f(y_j)
        (np.repeat([1.0, -1.0], n * m), (np.tile(pair, 2), np.concatenate([pair // m, n + pair % m]))),
        shape=(n * m, n + m),
    )
    bound = None if math.isinf(lam) else 1.0
    solution = linprog(
        c=np.concatenate([-a, b]) / mass,
        A_ub=vstack([difference, -difference], format="csr"),
        b_ub=np.tile(distances.ravel() / length, 2),
        bounds=(None if bound is None else -bound, bound),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if not solution.success:
        raise RuntimeError(f"HiGHS did not solve the linear program: {solution.message}")
    there, back = -solution.ineqlin.marginals.reshape(2, n, m)
    plan = _without_relays(np.where(there > _DUST, there, 0.0), np.where(back > _DUST, back, 0.0)) * mass
    f = solution.x * length
    return -solution.fun * length * mass, f[:n], f[n:], _within_marginals(plan, a, b)


def _without_relays(there: FloatArray, back: FloatArray) -> FloatArray:
    """A plan from the multipliers of both families of rows.

    Where points lie on a line the program may carry mass x1 -> y1 -> x2 -> y2 at the cost of x1 -> y2. Each return leg
    y1 -> x2 is removed by carrying its mass directly, which never costs more (triangle inequality).
    """
    plan = there.copy()
    for i, j in np.argwhere(back):
        rest = back[i, j]
        for source in np.flatnonzero(plan[:, j]):
            for target in np.flatnonzero(plan[i]):
                moved = min(rest, plan[source, j], plan[i, target])
                plan[source, j] -= moved
                plan[i, target] -= moved
                plan[source, target] += moved
                rest -= moved
    return plan


def _within_marginals(plan: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """The plan, scaled down where it moves more than a point's mass.

    Where a true and a predicted point coincide, the program may create mass at the one and move it to the other for
    free; creating it where it is needed costs the same.
    """
    row = plan.sum(axis=1)
    plan = plan * np.divide(a, row, out=np.ones_like(a), where=row > a)[:, None]
    column = plan.sum(axis=0)
    plan *= np.divide(b, column, out=np.ones_like(b), where=column > b)
    return plan
