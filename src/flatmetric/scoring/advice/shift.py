"""A mean error of everything that was found, and the result without it."""

from __future__ import annotations

import dataclasses

import numpy as np

from flatmetric.scoring.advice.evidence import SIGMAS, Evidence, Remedy, sigmas
from flatmetric.scoring.masses import masses
from flatmetric.scoring.row_costs import row_costs
from flatmetric.transport.flat_metric import flat_metric

_TOLD = {"shift": "xyz", "z_shift": "z"}  # axes whose bias a finding reports already


def without_bias(evidence: Evidence) -> tuple[Remedy, Evidence] | None:
    """The bias of matched molecules, with what the Flat Metric, computed again without it, gains; and the evidence that
    is left then. None where no bias is significant or worth it, or where a finding reports it.
    """
    score, matched = evidence.score, evidence.score.matched
    errors, flat = matched.errors[:, : score.dim], score.flat_result
    told = "".join(_TOLD.get(finding.kind, "") for finding in score.findings)
    if len(errors) < 2 or flat is None:
        return None
    mean = errors.mean(axis=0) * [axis not in told for axis in "xyz"[: score.dim]]
    scale = 1.0 if score.axis_scale is None else np.asarray(score.axis_scale)[: score.dim]
    if np.linalg.norm(mean * scale) < evidence.least:
        return None  # no plan gains more by a shift than its length
    units = [unit[matched.counted_in_kept] for unit in (evidence.molecule, evidence.tile)]
    for axis in range(score.dim):
        significant = sigmas(np.sign(mean[axis]) * errors[:, axis], *units) >= SIGMAS
        mean[axis] = mean[axis] if significant else 0.0
    if not mean.any():
        return None
    threads = matched.threads
    true, pred = evidence.truth.points(score.dim, threads), evidence.pred.points(score.dim, threads)
    again = flat_metric(
        true,
        pred - mean,
        lam=score.lam,
        truth_frames=evidence.truth.frame,
        pred_frames=evidence.pred.frame,
        axis_scale=score.axis_scale,
        threads=threads,
        **masses(evidence.truth, evidence.pred, score.weights),
    )
    numbers = {axis: float(size) for axis, size in zip("xyz", mean, strict=False) if size}
    shown = ", ".join(f"{axis} {size:+.1f}" for axis, size in numbers.items())
    remedy = Remedy("bias", f"Subtract the bias of {shown} nm.", flat.value - again.value, numbers)
    if remedy.gain < evidence.least:
        return None
    repaired = dataclasses.replace(
        evidence.pred, **{axis: getattr(evidence.pred, axis) - size for axis, size in numbers.items()}
    )
    return remedy, Evidence(score, evidence.least, repaired, row_costs(matched, again, score.weights))
