"""Results as sentences, the same on the terminal and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatmetric.localizations import Localizations
    from flatmetric.quality.misalignment import Finding
    from flatmetric.scoring.score import Score
    from flatmetric.statistics.comparison import Pair
    from flatmetric.statistics.intervals import Intervals


def budget_sentence(value: float, displaced: float, missed: float, false: float, unit: str = "molecule") -> str:
    """The Flat Metric (nm) and the largest of its parts.

    Examples
    --------
    >>> budget_sentence(65.0, 2.5, 62.5, 0.0)
    'On average 65.0 nm per molecule; 96 % of it from missed molecules.'
    """
    if value == 0:
        return "Every molecule was found where it is."
    parts = {"displaced molecules": displaced, "missed molecules": missed, "false detections": false}
    largest = max(parts, key=lambda name: parts[name])
    return f"On average {value:.1f} nm per {unit}; {100 * parts[largest] / value:.0f} % of it from {largest}."


def pair_sentence(pair: Pair) -> str:
    """Which of two is better, in plain words.

    Examples
    --------
    >>> from flatmetric.statistics.comparison import Pair
    >>> pair_sentence(Pair("A", "B", -4.1, (-5.2, -2.9), 0.001, 0.003, 0.002, False, (-5.4, -2.7), True))
    'A is better than B by 4.1 nm (2.7 to 5.4), p 0.002'
    """
    p = f"p {'<= ' if pair.p_smallest else ''}{pair.p_adjusted:.2g}"
    if not pair.told:
        span = "" if pair.ci_all is None else f" ({_short(pair.ci_all[0])} to {_short(pair.ci_all[1])})"
        return f"{pair.a} and {pair.b} can't be told apart: {_short(pair.difference, '+')} nm{span}, {p}"
    better, worse = (pair.a, pair.b) if pair.difference < 0 else (pair.b, pair.a)
    low, high = sorted(map(abs, pair.ci_all or (pair.difference, pair.difference)))
    by = f"{abs(pair.difference):.1f} nm ({low:.1f} to {high:.1f})"
    return f"{better} is better than {worse} by {by}, {p}"


def _short(length: float, sign: str = "") -> str:
    """A length in nm with two digits, and never an exponent."""
    return f"{length:{sign}.0f}" if abs(length) >= 10 else f"{length:{sign}.2g}"


def intervals_title(intervals: Intervals) -> str:
    """What intervals are for, and what they rest on.

    Examples
    --------
    >>> from flatmetric.statistics.intervals import Intervals
    >>> intervals_title(Intervals(95.0, 10000, 0, 120, 25, "blocks", None, {}))
    '95 % intervals for this structure, from 25 independent blocks of 120 frames'
    """
    count = intervals.blocks
    blocks = f"from {count} independent block{'' if count == 1 else 's'} of {intervals.block} frames"
    units = "by molecules" if intervals.unit == "molecules" else blocks
    return f"{intervals.level:g} % intervals for this structure, {units}"


def finding_sentence(finding: Finding) -> str:
    """One finding in plain words.

    Examples
    --------
    >>> from flatmetric.quality.misalignment import Finding
    >>> print(finding_sentence(Finding("frame_offset", -1, 120.0, 30.5, 1.0, "frame_base=0")))
    frames are off by -1: frame_base=0 (Flat Metric 120.0 to 30.5 nm)
    """
    change = f"Flat Metric {finding.flat_metric_before:.1f} to {finding.flat_metric_after:.1f} nm"
    return f"{_what(finding)}: {finding.fix} ({change})"


def _what(finding: Finding) -> str:
    estimate = finding.estimate
    match finding.kind:
        case "shift":
            return f"everything is shifted by x {estimate['x']:+.1f}, y {estimate['y']:+.1f} nm"
        case "frame_offset":
            return f"frames are off by {estimate:+d}"
        case "swapped_axes":
            return "x and y are exchanged"
        case "flipped_axis":
            return f"{estimate['axis']} is mirrored at {estimate['size'] / 2:g} nm"
        case "scale":
            return f"positions are {estimate:.6g} times the true ones"
        case "z_sign":
            return "z has the wrong sign"
        case "duplicates":
            return f"{estimate} rows repeat another"
        case "truncated":
            return f"the result ends at frame {estimate['last_frame']} of {estimate['truth_last_frame']}"


def file_warnings(*tables: Localizations) -> list[str]:
    """The warnings about files, each with the file's name."""
    return [f"{table.provenance.file}: {warning}" for table in tables for warning in table.provenance.warnings]


def result_warnings(truth: Localizations, pred: Localizations, score: Score) -> list[str]:
    """All that looks wrong with a result: its files as they were read, its frames, and the findings of a short check.

    Examples
    --------
    >>> from flatmetric.localizations import Localizations
    >>> from flatmetric.scoring.score import score
    >>> truth, nothing = Localizations(frame=[1], x=[0.0], y=[0.0]), Localizations(frame=[], x=[], y=[])
    >>> result_warnings(truth, nothing, score(truth, nothing))
    ['there is no detection at all']
    """
    from flatmetric.quality.misalignment import check_window

    findings = map(finding_sentence, check_window(truth, pred, lam=score.lam, threads=score.matched.threads))
    whole = [f"the result may be wrong as a whole: {finding}; see flatmetric check" for finding in findings]
    return [*file_warnings(truth, pred), *score.warnings, *whole]
