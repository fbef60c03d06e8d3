"""Which results of a leaderboard look wrong: findings, copies, and what is too good to be true."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.challenges.submissions import tuned_name
from flatmetric.errors import InputError
from flatmetric.quality.findings import Finding
from flatmetric.quality.remarks import remarks_on
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.intervals import NO_IDS

_NEAR = 1.0  # nm: a copy may have been rounded
_FEWEST_ALIKE = 10  # rows
_ON_THE_TRUTH = 0.1  # of the detections: real results have less than a hundredth there
_TOO_PRECISE = 0.9  # of the least possible error; real results have more than three times that
_SAME_PIXEL = 0.02  # of a pixel size: the data sets of one team have the same camera

Result = tuple[str, str]
"""A data set and a program."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """What looks wrong with results.

    `remarks` are sentences by result, only for those with which something is wrong, and `marks` the same in a word or
    two. `wrong` are the results that certainly are, so that they say nothing about a program; `certain` are those of
    them that are so whatever their Flat Metric. `shared` are remarks on the truth and the rules of a data set, `notes`
    are what is worth knowing about a result and no more; `findings` are those of each result alone.
    """

    remarks: dict[Result, list[str]] = field(default_factory=dict)
    marks: dict[Result, str] = field(default_factory=dict)
    wrong: frozenset[Result] = frozenset()
    certain: frozenset[Result] = frozenset()
    shared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: dict[Result, list[str]] = field(default_factory=dict)
    findings: dict[Result, tuple[Finding, ...]] = field(default_factory=dict)


def find_suspects(entries: Sequence[Entry], lam: float) -> Suspects:
    """What looks wrong with the results of a leaderboard; `lam` in nm.

    Examples
    --------
    >>> entry = Entry("d", "p", {"flat_metric": 200.0}, 1, np.array([1]), np.array([200.0]), np.array([1.0]), rows=9)
    >>> find_suspects([entry], 125.0).remarks
    {('d', 'p'): ['worse than an empty file, which has 125 nm']}
    """
    remarks: dict[Result, list[str]] = {}
    marks: dict[Result, str] = {}
    notes: dict[Result, list[str]] = {}
    wrong: set[Result] = set()
    known: set[Result] = set()
    shared, findings = _of_files(_with_common_pixels(entries))
    copies = _copies_of(entries)
    for entry in entries:
        result, value = (entry.dataset, entry.program), entry.metrics["flat_metric"]
        own = [finding for finding in findings[result] if finding.severity != "note" and not finding.is_limit]
        texts = [(finding.kind.replace("_", " "), finding.for_one_file()) for finding in own]
        if others := copies[result]:
            more = "" if len(others) == 1 else f" and {len(others) - 1} more"
            texts.append((f"copy of {others[0]}{more}", f"a copy of {', '.join(others)}"))
        texts += _too_good(entry)
        certain = any(map(_is_certain, own))
        if value is not None and value > lam * (1 + 1e-9) and not certain:
            texts.append(("worse than empty", f"worse than an empty file, which has {lam:g} nm"))
        if entry.rows == 0 and entry.frames.size:
            texts.append(("no detection", "it has no detection"))
        if texts:
            marks[result] = ", ".join(dict.fromkeys(mark for mark, _ in texts))
            remarks[result] = [text for _, text in texts]
        noted = [finding.for_one_file() for finding in findings[result] if finding.severity == "note"]
        if noted:
            notes[result] = noted
        worse = value is not None and value > lam and bool(own)
        if entry.closeness.exact >= _ON_THE_TRUTH or certain:
            known.add(result)
        if worse or result in known:
            wrong.add(result)
    return Suspects(remarks, marks, frozenset(wrong), frozenset(known), shared, notes, findings)


def _is_certain(finding: Finding) -> bool:
    """Whether a result with this finding says nothing about its program. One that ends early, or drifts, changes over
    the movie: it would leave no independent stretches by which to compare the others.
    """
    changing = finding.kind in ("truncated", "drift") and finding.type.far(finding.estimate)
    return changing or finding.severity == "wrong"


def _of_files(entries: Sequence[Entry]) -> tuple[dict[str, tuple[str, ...]], dict[Result, tuple[Finding, ...]]]:
    """What all results of a data set share, and the findings of each result alone."""
    by_dataset: dict[str, dict[str, tuple[Finding, ...]]] = {}
    for entry in entries:
        by_dataset.setdefault(entry.dataset, {})[entry.program] = entry.findings
    found = {dataset: remarks_on(those) for dataset, those in by_dataset.items()}
    unknown = {entry.dataset for entry in entries if not entry.ids}
    shared = {name: (*one.shared, *([NO_IDS] if name in unknown else [])) for name, one in found.items()}
    shared = {dataset: texts for dataset, texts in shared.items() if texts}
    return shared, {(dataset, program): own for dataset, one in found.items() for program, own in one.own.items()}


def _with_common_pixels(entries: Sequence[Entry]) -> list[Entry]:
    """Entries in which the pixel sizes that are proposed for a program agree, where they nearly do."""
    sizes: dict[str, list[float]] = {}
    for entry in entries:
        for finding in entry.findings:
            if "pixel_size" in finding.options:
                sizes.setdefault(entry.program, []).append(float(finding.options["pixel_size"]))
    common = {
        program: float(f"{statistics.median(those):.4g}")
        for program, those in sizes.items()
        if max(those) - min(those) <= _SAME_PIXEL * min(those)
    }

    def changed(finding: Finding, size: float) -> Finding:
        if "pixel_size" not in finding.options:
            return finding
        return replace(finding, options={**finding.options, "pixel_size": size})

    return [
        replace(entry, findings=tuple(changed(one, common[entry.program]) for one in entry.findings))
        if entry.program in common
        else entry
        for entry in entries
    ]


def _too_good(entry: Entry) -> list[tuple[str, str]]:
    """A mark and a sentence where a result can't come from images."""
    close = entry.closeness
    if close.exact >= _ON_THE_TRUTH:
        share = f"{100 * close.exact:.0f} % of its detections lie on a true molecule"
        return [("the truth", f"identical to the truth: {share}")]
    if close.error is None or close.least is None or close.error >= _TOO_PRECISE * close.least:
        return []
    compared = f"the Cramer-Rao bound for spots of these photons is {close.least:.2g} nm"
    return [("too precise", f"more precise than light allows: its median error is {close.error:.2g} nm, {compared}")]


def _copies_of(entries: Sequence[Entry]) -> dict[Result, list[str]]:
    alike: dict[tuple[str, int, tuple[int, ...]], list[Entry]] = {}
    for entry in entries:
        # What copies share exactly: data set, number of rows, and the frames of some of them.
        key = entry.dataset, entry.rows, tuple(row[0] for row in entry.sample)
        alike.setdefault(key, []).append(entry)
    return {
        (entry.dataset, entry.program): names
        for group in alike.values()
        for entry, names in zip(group, _copies(group), strict=True)
    }


def _copies(alike: Sequence[Entry]) -> list[list[str]]:
    """For each of some results that are alike, which others are copies of it, perhaps in another format; tuning may
    well end at the defaults.
    """
    if alike[0].rows < _FEWEST_ALIKE or len(alike) == 1:
        return [[] for _ in alike]
    places = np.array([[row[1:] for row in entry.sample] for entry in alike])
    names = [entry.program for entry in alike]
    copies = []
    for at, own in enumerate(names):
        near = np.flatnonzero((np.abs(places - places[at]) <= _NEAR).all(axis=(1, 2))).tolist()
        others = [names[k] for k in near if k != at]
        copies.append([name for name in others if tuned_name(name) != own and tuned_name(own) != name])
    return copies


def left_out(
    suspects: Suspects, entries: Sequence[Entry], exclude: Sequence[str], *, all_suspects: bool, none: bool
) -> dict[Result, str]:
    """The results that are shown below the line, in no rank and no comparison, each with the reason.

    Those are results without depths among others that have them, those of programs in `exclude`, and what is certainly
    wrong; or everything that looks wrong (`all_suspects`), or nothing of it (`none`).
    """
    programs = {entry.program for entry in entries}
    for name in exclude:
        if name not in programs:
            raise InputError(f"exclude is {name!r}, which has no result here; give the name of a program")
    if all_suspects and none:
        raise InputError("exclude_suspect= and include_suspect= contradict each other; give one")
    out: Mapping[Result, str] = {}
    if not none:
        # Whose the original is, can't be told: copies are marked and no more.
        out = {
            result: mark
            for result, mark in suspects.marks.items()
            if result in suspects.wrong or (all_suspects and not mark.startswith("copy of"))
        }
    named = {(entry.dataset, entry.program): "excluded" for entry in entries if entry.program in exclude}
    kept = [entry for entry in entries if (entry.dataset, entry.program) not in {**out, **named}]
    return {**_without_depths(kept), **out, **named}


def _without_depths(entries: Sequence[Entry]) -> dict[Result, str]:
    """Results that were scored in 2D among others in 3D, which are harder; an empty one is the same in both."""
    deep = {entry.dataset for entry in entries if entry.dim == 3}
    reason = "no depths, others have them (dim=2 ranks all)"
    return {
        (entry.dataset, entry.program): reason
        for entry in entries
        if entry.dataset in deep and entry.dim == 2 and entry.rows > 0
    }
