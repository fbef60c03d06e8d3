"""Results as sentences, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from flatmetric.metrics.table import METRICS
from flatmetric.quality.findings import spoil_advice

if TYPE_CHECKING:
    from flatmetric.scoring.base_score import BaseScore
    from flatmetric.scoring.intervals import Intervals
    from flatmetric.scoring.score import Score
    from flatmetric.statistics.comparison import Comparison, Lead, Pair
    from flatmetric.statistics.ranking import Ranking


def budget_sentence(value: float, displaced: float, missed: float, false: float, unit: str = "molecule") -> str:
    """The Flat Metric (nm) and the largest of its parts.

    Examples
    --------
    >>> budget_sentence(65.0, 2.5, 62.5, 0.0)
    'On average 65.0 nm per molecule; 96 % of it from missed molecules.'
    """
    if value == 0:
        return "Every molecule was detected exactly where it is."
    parts = {"displaced molecules": displaced, "missed molecules": missed, "false detections": false}
    largest = max(parts, key=lambda name: parts[name])
    return f"On average {value:.1f} nm per {unit}; {100 * parts[largest] / value:.0f} % of it from {largest}."


def compared_sentence(score: BaseScore) -> str:
    """What was compared, and by which rules."""
    protocol = score.protocol
    axial = f" / {protocol.tolerance_z:g}" if score.dim == 3 else ""
    rules = [f"lam {score.lam:g} nm", f"{protocol.matching} matching within {protocol.tolerance:g}{axial} nm"]
    if protocol.border is not None:
        rules.append(f"border {protocol.border:g} nm")
    basis = score.basis
    if basis.photon_threshold is not None:
        rules.append(f"photons > {basis.photon_threshold:g}")
    if protocol.wobble is not None:
        rules.append("wobble")
    counts = f"{basis.n_truth} true molecules, {basis.n_pred} detections"
    return f"{counts}, {score.dim}D, protocol {protocol.name}: {', '.join(rules)}"


def gain_sentence(score: Score) -> str:
    """By how much all advice together would lower the Flat Metric, or why there is none."""
    value = score.flat_metric.value
    if value is None or not score.advice:
        return _no_advice(score)
    after = value - sum(one.gain for one in score.advice)
    what = "This" if len(score.advice) == 1 else "All of it together"
    return f"{what} would take the Flat Metric from {value:.1f} to {after:.1f} nm."


def _no_advice(score: Score) -> str:
    if spoil_advice(score.findings):
        return "Fix the findings, then rerun: advice waits for that."
    flat = score.flat_metric
    if not flat.value:
        return "The Flat Metric is 0; there is nothing to improve."
    parts = _parts(score)
    largest = max(parts, key=lambda part: parts[part])
    return f"Nothing stands out: most of it is from {largest}, and no group of them differs clearly from the rest."


def disagreements(comparison: Comparison) -> list[str]:
    """Where another metric has another favourite than the Flat Metric, and why; a sentence for each such metric.

    Examples
    --------
    >>> import flatmetric as fm
    >>> from flatmetric.statistics.comparison import compare_scores
    >>> truth = {"frame": list(range(1, 41)), "x": [0.0] * 40, "y": [0.0] * 40}
    >>> few = {"frame": list(range(1, 21)), "x": [1.0] * 20, "y": [0.0] * 20}
    >>> compared = compare_scores({"few": fm.score(truth, few), "all": fm.score(truth, dict(truth, x=[9.0] * 40))})
    >>> disagreements(compared)
    ['few has the best RMSE lateral but the worst Flat Metric: missed molecules cost it 62.5 nm, all 0.0.']
    """
    named = list(zip(comparison.names, comparison.scores, strict=True))  # best first
    sentences: dict[str, list[str]] = {}
    for key in _RIVALS:
        known = {name: value for name, score in named if (value := score.get(key)) is not None}
        if len(known) < len(named):
            continue
        best = max(known.values()) if METRICS[key].better == "higher" else min(known.values())
        if known[comparison.names[0]] != best:
            favourite = next(name for name, value in known.items() if value == best)
            sentences.setdefault(favourite, []).append(METRICS[key].title)
    return [_disagreement(name, titles, named) for name, titles in sentences.items()]


_RIVALS = (
    "challenge.jaccard",
    "challenge.recall",
    "challenge.precision",
    "challenge.rmse_xy",
    "challenge.rmse_z",
    "challenge.efficiency",
)


def _disagreement(name: str, titles: list[str], named: list[tuple[str, Score]]) -> str:
    place = [other for other, _ in named].index(name)
    rank = "the worst" if place == len(named) - 1 else f"only place {place + 1} by"
    own, best = _parts(named[place][1]), _parts(named[0][1])
    part = max(own, key=lambda part: own[part] - best[part])
    why = f"{part} cost it {own[part]:.1f} nm, {named[0][0]} {best[part]:.1f}"
    return f"{name} has the best {listed(titles)} but {rank} Flat Metric: {why}."


def _parts(score: Score) -> dict[str, float]:
    """The parts of the Flat Metric by name, nm."""
    flat = score.flat_metric
    named = {"displaced molecules": flat.displaced, "missed molecules": flat.missed, "false detections": flat.false}
    return {name: value or 0.0 for name, value in named.items()}


def span_of(interval: tuple[float, float], form: str) -> str:
    """An interval as text.

    Examples
    --------
    >>> span_of((1.0, 2.5), ".4g")
    '1 to 2.5'
    """
    return f"{interval[0]:{form}} to {interval[1]:{form}}"


def board_title(ranking: Ranking, programs: int, suspect: Container[str] = ()) -> str:
    """Which of so many programs is best overall, if the data allow a conclusion, and whether it is suspect."""
    if not ranking.datasets:
        return "No result was ranked."
    if not ranking.overall:
        return f"No overall winner: {ranking.no_overall}"
    first = [standing.program for standing in ranking.overall if standing.place == 1]
    best = first[0] if len(first) == 1 else f"{listed(first, most=3)}, in a tie"
    best += " (suspect)" if any(name in suspect for name in first) else ""
    if len(ranking.overall) == programs:
        return f"Best of {programs}: {best}"
    if len(ranking.overall) == 1:
        return f"Only {best} has a rank in every data set, so there is no overall winner"
    return f"Best of the {len(ranking.overall)} programs with a rank in every data set: {best}"


_MOST_LEADERS = 8  # data sets: more would push the ranking off the first screen


def leader_sentences(ranking: Ranking, marks: Mapping[tuple[str, str], str]) -> list[str]:
    """For each data set, the leader, with its mark if it is suspect, and those that don't differ significantly from it.

    `marks` are what looks wrong with results, by data set and program.
    """
    sentences = []
    for name, places in ranking.datasets.items():
        if not places:
            continue
        best = places[0]
        tied = [other.program for other in places[1:] if best.shares_letter(other)]
        apart = f", not significantly ahead of {listed(tied, most=3)}" if tied else ""
        mark = f" (suspect: {marks[name, best.program]})" if (name, best.program) in marks else ""
        sentences.append(f"{name}: {best.program}{mark} leads with {best.flat_metric:.1f} nm{apart}.")
    return sentences[:_MOST_LEADERS]


def doubtful_sentence(count: int, results: int) -> str:
    """How many results look wrong.

    Examples
    --------
    >>> doubtful_sentence(1, 22), doubtful_sentence(21, 22)
    ('1 of 22 results looks wrong', '21 of 22 results look wrong')
    """
    return f"{count} of {results} results look{'s' if count == 1 else ''} wrong"


def unscored_sentences(failures: Mapping[tuple[str, str], str]) -> list[str]:
    """Why results have no score, by data set and program: programs with the same reason together.

    Examples
    --------
    >>> unscored_sentences({("A", "x"): "no file", ("A", "y"): "no file", ("B", "x"): "no column z"})
    ['A, x and y: no file', 'B, x: no column z']
    """
    by_dataset: dict[str, list[tuple[str, str]]] = {}
    for (dataset, program), reason in failures.items():
        by_dataset.setdefault(dataset, []).append((program, reason))
    return [f"{dataset}, {line}" for dataset, told in by_dataset.items() for line in said_once(told)]


def said_once(told: Iterable[tuple[str, str]]) -> list[str]:
    """What is said of each name, names of which the same is said together.

    Examples
    --------
    >>> said_once([("A", "no ids"), ("B", "too small"), ("C", "no ids")])
    ['A and C: no ids', 'B: too small']
    """
    names: dict[str, list[str]] = {}
    for name, text in told:
        names.setdefault(text, []).append(name)
    return [f"{listed(those, most=3)}: {text}" for text, those in names.items()]


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names in a sentence: all of them, or the first few and how many there are besides.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if most is not None and len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_FEW_CONTRIBUTORS = 10  # molecules: with fewer, an interval is very skew and one more of them changes it much


def pair_sentence(pair: Pair) -> str:
    """Which of two is better, as a sentence.

    Examples
    --------
    >>> from flatmetric.statistics.comparison import Pair
    >>> pair_sentence(Pair("A", "B", -4.1, (-5.2, -2.9), 0.001, 0.003, 0.002, False, (-5.4, -2.7), True))
    'A is better than B by 4.1 nm (2.7 to 5.4), p 0.002'
    """
    p = f"p {'<= ' if pair.p_smallest else ''}{pair.p_adjusted:.2g}"
    if pair.contributors is not None and 0 < pair.contributors < _FEW_CONTRIBUTORS:
        p += f"; it rests on about {pair.contributors:.0f} molecule{'' if round(pair.contributors) == 1 else 's'}"
    if not pair.significant:
        span = "" if pair.ci_all is None else f" ({_short(pair.ci_all[0])} to {_short(pair.ci_all[1])})"
        return f"{pair.a} and {pair.b} don't differ significantly: {_short(pair.difference, '+')} nm{span}, {p}"
    better, worse = (pair.a, pair.b) if pair.difference < 0 else (pair.b, pair.a)
    low, high = sorted(map(abs, pair.ci_all or (pair.difference, pair.difference)))
    by = f"{abs(pair.difference):.1f} nm ({low:.1f} to {high:.1f})"
    return f"{better} is better than {worse} by {by}, {p}"


def lead_sentence(lead: Lead) -> str:
    """Whether the program with the lowest Flat Metric depends on lam; the pairs say how sure that is.

    Examples
    --------
    >>> from flatmetric.statistics.comparison import Lead
    >>> lead_sentence(Lead(10.0, 250.0, {"A": 0.71, "B": 0.29}, {("A", "B"): (79.0,)}))
    'Which has the lowest Flat Metric depends on lam: A for 71 % of lam from 10 to 250 nm, B for 29 %.'
    """
    leaders = {name: share for name, share in lead.share.items() if share > 0}
    span = f"lam from {lead.low:g} to {lead.high:g} nm"
    if len(leaders) == 1:
        return f"{next(iter(leaders))} has the lowest Flat Metric for every {span}."
    (first, part), *others = sorted(leaders.items(), key=lambda one: -one[1])
    rest = ", ".join(f"{name} for {_percent(share)}" for name, share in others)
    return f"Which has the lowest Flat Metric depends on lam: {first} for {_percent(part)} of {span}, {rest}."


def crossing_sentence(a: str, b: str, places: Sequence[float]) -> str:
    """Where the curves of two programs cross, lam in nm.

    Examples
    --------
    >>> crossing_sentence("A", "B", [79.0, 120.25])
    'A and B cross at lam 79.0, 120.2 nm'
    """
    return f"{a} and {b} cross at lam {', '.join(f'{lam:.1f}' for lam in places)} nm"


def _percent(share: float) -> str:
    """A share that is not 0, and never shown as if it were."""
    return f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"


def doubts(comparison: Comparison) -> list[str]:
    """Which files must be fixed before their numbers mean anything, a sentence each; not what all of them share.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 9.0], "y": [0.0, 9.0]}
    >>> doubts(fm.compare(truth, {"a": truth, "b": truth}))
    []
    """
    sentences = []
    for name, findings in comparison.remarks.own.items():
        faults = "; ".join(finding.what() for finding in findings if finding.severity == "wrong")
        if faults:
            about = "so these numbers don't reflect the program"
            sentences.append(f"Fix {name} first: its file is wrong ({faults}), {about}.")
    return sentences


def _short(length: float, sign: str = "") -> str:
    """A length in nm with two digits, and never an exponent."""
    return f"{length:{sign}.0f}" if abs(length) >= 10 else f"{length:{sign}.2g}"


def intervals_title(intervals: Intervals) -> str:
    """What intervals are for, and what they rest on.

    Examples
    --------
    >>> from flatmetric.scoring.intervals import Intervals
    >>> intervals_title(Intervals(95.0, 10000, 0, 120, 25, "blocks", None, {}))
    '95 % intervals for this structure, from 25 independent blocks of 120 frames'
    >>> intervals_title(Intervals(95.0, 10000, 0, 20, 3, "molecules", None, {}))
    '95 % intervals for this structure, by molecules, means over frames from 3 independent blocks of 20 frames'
    """
    count = intervals.blocks
    frames = f"{intervals.block} frame{'' if intervals.block == 1 else 's'}"
    blocks = f"from {count} independent block{'' if count == 1 else 's'} of {frames}"
    units = f"by molecules, means over frames {blocks}" if intervals.unit == "molecules" else blocks
    return f"{intervals.level:g} % intervals for this structure, {units}"
