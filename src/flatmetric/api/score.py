"""`score` and `confidence`: every metric of a result against the truth, checked, with intervals if asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from flatmetric._progress import Progress
from flatmetric.api.inputs import both_tables, file_findings, warn
from flatmetric.api.options import Checked, Images, MayBeSure, Metrics, ReadBoth, Scoring, Sure, Threads, keywords, only
from flatmetric.api.rules import rules_from, with_field
from flatmetric.challenge.submissions import program_name
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.protocol import Protocol
from flatmetric.quality.findings import Finding, Findings
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score, ScoreOptions
from flatmetric.scoring.score import score as score_tables

if TYPE_CHECKING:
    from flatmetric.api.options import Source
    from flatmetric.statistics.intervals import Certainty


class ScoreArguments(Scoring, MayBeSure, Checked, Images, ReadBoth, Threads, total=False):
    """The options of `score`."""


@keywords(ScoreArguments)
def score(truth: Source, pred: Source, *, progress: Progress | None = None, **given: Unpack[ScoreArguments]) -> Score:
    """Score a result against the truth: Flat Metric, challenge metrics, RMSMD, GOSPA, OSPA.

    Wherever the result looks wrong as a whole, the score has `findings`, which are also one `FindingWarning`.

    Parameters
    ----------
    truth, pred
        Each a file of any known format, `Localizations`, a pandas, polars or Arrow table, or a dict of arrays; tables
        are in nm, with frames from 1, unless reading options say otherwise.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1, 2], "x": [100.0, 900.0, 500.0], "y": [100.0, 100.0, 500.0]}
    >>> pred = {"frame": [1, 2], "x": [103.0, 500.0], "y": [104.0, 500.0]}
    >>> s = fm.score(truth, pred, lam=120, tolerance=100)
    >>> round(s.flat_metric.value, 3), s.challenge.tp, s.challenge.fn
    (41.667, 2, 1)
    """
    scored = scored_with_findings(*both_tables(truth, pred, given, progress=progress), given, name_of(pred))
    warn(scored.findings, scored.name)
    return scored


def name_of(pred: Any) -> str:
    """The name of a result: that of its file."""
    return program_name(Path(pred)) if isinstance(pred, (str, Path)) else "result"


def score_options(given: Mapping[str, Any], protocol: Protocol) -> ScoreOptions:
    """The options of a score from keywords, and its rules."""
    return ScoreOptions(protocol=protocol, **only(given, Metrics))


def scored_with_findings(
    truth: Localizations, pred: Localizations, given: Mapping[str, Any], name: str = "result"
) -> Score:
    """The score of two tables with what looks wrong about them, and with intervals if `ci` is given."""
    protocol, of_field = with_field(rules_from(given), given, truth, pred)
    options = score_options(given, protocol)
    threads = given.get("threads")
    truth.check_has_rows()
    images = bool(given.get("images", False))
    scored = score_tables(truth, pred, **options.keywords(), images=images, threads=threads)
    scored = dataclasses.replace(scored, name=name)
    findings = findings_of(scored, given, of_field)
    scored = dataclasses.replace(scored, findings=Findings(findings, truth, pred, scored.lam))
    if given.get("ci") is None:
        return scored
    from flatmetric.statistics.intervals import confidence

    return dataclasses.replace(scored, intervals=confidence(scored, certainty(given)))


def findings_of(scored: Score, given: Mapping[str, Any], of_field: Finding | None) -> tuple[Finding, ...]:
    """What looks wrong with a scored result: as it was read, by the rules, and, unless `check` is off, as a whole."""
    matched = scored.matched
    found = [*file_findings(matched.truth, "truth"), *file_findings(matched.pred, "pred")]
    found += [Finding("file", text, None, None, 1.0) for text in matched.warnings]
    found += [] if of_field is None else [of_field]
    if given.get("check", True):
        from flatmetric.quality.checking import check_window

        found += check_window(
            matched.truth,
            matched.pred,
            lam=scored.lam,
            protocol=scored.protocol,
            dim=scored.dim,
            threads=matched.threads,
        )
    return tuple(found)


def certainty(given: Mapping[str, Any]) -> Certainty:
    """How sure to be, from keywords."""
    from flatmetric.statistics.intervals import Certainty

    level = given.get("ci")
    values = {name: given[name] for name in ("resamples", "seed", "block") if name in given}
    return Certainty(95.0 if level is None else level, **values)


@keywords(Sure)
def confidence(score: Score, **given: Unpack[Sure]) -> Intervals:
    """Confidence intervals of a score's metrics, for this structure with new blinking and noise; lengths in nm.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]}
    >>> fm.confidence(fm.score(truth, truth)).intervals["challenge.jaccard"]
    (100.0, 100.0)
    """
    from flatmetric.statistics.intervals import confidence as intervals_of

    if not isinstance(score, Score):
        raise InputError(f"score is a {type(score).__name__}; give what fm.score returned")
    return intervals_of(score, certainty(given))
