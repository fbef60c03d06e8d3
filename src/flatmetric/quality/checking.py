"""`check_tables` and `check_window`: what looks wrong with a result as a whole; frames first, then positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from flatmetric._arrays import chunks
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import rows_within, select_rows
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import DEFAULT_LAM
from flatmetric.quality import alignment, content, coverage, depth, frames, geometry, wandering
from flatmetric.quality.case import WINDOW_PAIRS, Case, Spans, stretches, within
from flatmetric.quality.findings import Finding, Findings
from flatmetric.quality.pairing import SIGNIFICANT, Pile

_CLEARLY = 1.5  # times the pile of the file as it is
_EXPLAINED = 0.6  # of the detections: nothing else can be clearly better
_AROUND = 100  # frames, around those of a sample

_Step = tuple[Finding, Case]


def check_tables(
    truth: Localizations,
    pred: Localizations,
    lam: float = DEFAULT_LAM,
    rules: Protocol | None = None,
    dim: int = 2,
    threads: int | None = None,
) -> Findings:
    """Systematic errors in a result, most important first; empty if there are none.

    `lam` (nm) and `dim` are those of the Flat Metric. Of the rules, the frame limits and the field of view matter; a
    border is not left out, since a file in the wrong unit may lie in it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = Localizations(frame=np.arange(1, 301), x=rng.uniform(0, 6400, 300), y=rng.uniform(0, 6400, 300))
    >>> print(check_tables(truth, truth))
    Nothing looks wrong.
    >>> check_tables(truth, dataclasses.replace(truth, frame=truth.frame - 1))[0].fix
    'frame_base=0'
    """
    return _check(Case.whole, truth, pred, lam, rules or Protocol(), dim, threads)


def check_window(
    truth: Localizations,
    pred: Localizations,
    lam: float = DEFAULT_LAM,
    rules: Protocol | None = None,
    dim: int = 2,
    threads: int | None = None,
) -> Findings:
    """`check_tables` on a few thousand rows of the result, from its first frame to its last: quick, beside a score.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[10.0], y=[0.0])
    >>> print(check_window(t, t))
    Nothing looks wrong.
    """
    return _check(Case.window, truth, pred, lam, rules or Protocol(), dim, threads)


def check_on_disk(
    truth: Localizations, pred: Localizations, lam: float, rules: Protocol, dim: int, threads: int | None = None
) -> Findings:
    """`check_window` of tables that don't fit into memory: also the truth is a sample, of the frames around.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[10.0], y=[0.0])
    >>> print(check_on_disk(t, t, 125, Protocol(), 2))
    Nothing looks wrong.
    """
    if len(pred) == 0:
        return Findings((), truth, pred, lam)
    spans = stretches(pred.frame)
    last = int(pred.frame.max())
    wide = tuple((first - _AROUND, last + _AROUND) for first, last in spans)
    samples = rows_in(truth, (*wide, (last + 1, last + 1 + _AROUND))), rows_in(pred, spans)

    def sampled(truth: Localizations, pred: Localizations, *others: Any) -> Case:
        lam, threads, field = others
        return Case(truth, pred, spans, lam, WINDOW_PAIRS, threads, field)

    return _check(sampled, *samples, lam, rules, dim, threads) if len(samples[0]) else Findings((), *samples, lam)


def rows_in(table: Localizations, spans: Spans) -> Localizations:
    """The rows in stretches of frames, found with little memory."""
    rows = [part.start + np.flatnonzero(within(table.frame[part], spans)) for part in chunks(len(table))]
    return table.select(np.concatenate([*rows, np.zeros(0, dtype=np.int64)]))


def _check(
    make: Callable[..., Case],
    truth: Localizations,
    pred: Localizations,
    lam: float,
    rules: Protocol,
    dim: int,
    threads: int | None,
) -> Findings:
    truth.check_has_rows()
    truth, pred = _in_frames(truth, rules), _in_frames(pred, rules)
    if len(truth) == 0 or len(pred) == 0:
        return Findings((), truth, pred, lam)
    case = dataclasses.replace(make(truth, pred, lam, threads, rules.fov), dim=dim)
    findings, case = _look(case, rules)
    if _frames_fit(findings):
        offset = sum(finding.estimate for finding in findings if finding.kind == "frame_offset")
        moved = pred if offset == 0 else dataclasses.replace(pred, frame=pred.frame - offset)
        cut = None if _leaves_out(findings) else coverage.truncated(truth, moved)
        if cut is not None and len(case.spans) == 1:
            cut = coverage.without_end(case, cut)
        findings += [] if cut is None else [cut]
    return Findings(tuple(findings), truth, pred, lam)


def _in_frames(table: Localizations, protocol: Protocol) -> Localizations:
    return select_rows(table, rows_within(table, dataclasses.replace(protocol, border=None)))


def _leaves_out(findings: list[Finding]) -> bool:
    """Whether only every second, third ... frame is there, so that the last ones may be missing as well."""
    return any(finding.kind == "missing_frames" and "step" in finding.estimate for finding in findings)


def _frames_fit(findings: list[Finding]) -> bool:
    return not any(finding.kind in ("no_frames", "no_overlap", "shuffled_frames") for finding in findings)


def _look(case: Case, protocol: Protocol) -> tuple[list[Finding], Case]:
    """Everything but missing frames at the end, and the case with all of it fixed."""
    if geometry.spread(case.all_truth) < geometry.SMALLEST_SPREAD:
        return [], case  # in one place anything fits
    alone = frames.one_frame_only(case)
    if alone is not None:
        return [alone], case
    findings: list[Finding] = []
    given = case
    for look, most in STEPS:
        for _ in range(most):
            step = look(case)
            if step is None or step[0].kind in [finding.kind for finding in findings]:
                break
            findings.append(step[0])
            case = step[1]
    unrelated = frames.no_overlap(case) or (frames.shuffled(case) if case.explained < _EXPLAINED else None)
    if unrelated is not None:
        return [frames.no_overlap(given) or unrelated], case
    if len(case.covered_truth) and case.value > case.lam:
        findings.append(Finding("worse_than_nothing", case.lam, None, None, 1.0))
    if case.pile.sigmas < SIGNIFICANT:
        return findings, case
    border = coverage.blind_border(case) if protocol.border is None else None
    judged = None if border is None else coverage.without_border(case, border)
    limits = [judged, coverage.empty_region(case), coverage.blind_depth(case)]
    return [*findings, *(limit for limit in limits if limit is not None)], case


def _gross(case: Case) -> _Step | None:
    """Frames and axes: the change that explains most, if it explains clearly more than the file as it is."""
    fits = case.pile.sigmas >= SIGNIFICANT
    if fits:
        nearby = frames.offset_nearby(case)
        step = None if nearby is None else case.judged(nearby)
        if step is not None or case.explained > _EXPLAINED:
            return step
    far = frames.offset_anywhere(case)
    step = None if far is None else case.judged(far)
    if step is not None:
        return step
    hypotheses = list(geometry.hypotheses(case))
    if not fits:
        hypotheses += list(frames.offsets_with_shift(case))
    best: tuple[Finding, Pile] | None = None
    needed = _CLEARLY * max(case.pile.excess, 0.0) + 5
    for finding, pile in hypotheses:
        if case.is_convincing(pile) and pile.excess > needed and (best is None or pile.excess > best[1].excess):
            best = finding, pile
    if best is None:
        return None
    finding = dataclasses.replace(best[0], certainty=best[1].certainty)
    return case.judged(alignment.refined(case, finding))


def _judge(look: Callable[[Case], Finding | None]) -> Callable[[Case], _Step | None]:
    """A step that looks, and keeps what lowers the Flat Metric."""

    def step(case: Case) -> _Step | None:
        finding = look(case)
        return None if finding is None else case.judged(finding)

    return step


def _name(look: Callable[[Case], Finding | None]) -> Callable[[Case], _Step | None]:
    """A step that looks, and names what it finds even where its fix would raise the Flat Metric and is not made."""

    def step(case: Case) -> _Step | None:
        finding = look(case)
        return None if finding is None else case.judged(finding) or (finding, case)

    return step


def _fine(case: Case) -> Finding | None:
    """A scale, a rotation or a drift, and the path of the drift where it is not straight."""
    finding = alignment.scale_rotation_drift(case)
    if finding is None or finding.kind != "drift":
        return finding
    return wandering.wander(case) or finding


def _note(look: Callable[[Case], Finding | None]) -> Callable[[Case], _Step | None]:
    """A step that names what it finds in a result that fits, for which no change of the rows is a fix."""

    def step(case: Case) -> _Step | None:
        finding = look(case) if case.pile.sigmas >= SIGNIFICANT else None
        return None if finding is None else (finding, case)

    return step


STEPS: tuple[tuple[Callable[[Case], _Step | None], int], ...] = (
    (_gross, 3),  # frames, axes and unit
    (_name(depth.flat), 1),
    (_judge(_fine), 4),  # each, and one of them again
    (_judge(wandering.wander), 1),
    (_judge(alignment.shift), 1),
    (_judge(alignment.z_sign), 1),
    *((_judge(look), 1) for look in (depth.scale, depth.tilt, depth.drift, depth.shift)),
    (_name(content.duplicates), 1),
    (_judge(content.repeated_frames), 1),
    (_note(frames.jitter), 1),
    (_judge(content.near_duplicates), 1),
    *((_note(look), 1) for look in (content.photon_unit, coverage.missing_frames)),
)
"""What is looked for, in this order, each on the table with everything before it fixed; and how many findings it may
give.
"""
