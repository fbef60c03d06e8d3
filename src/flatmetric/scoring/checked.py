"""A score with the findings of its check: what looked wrong with the files as they were read, matched and compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from flatmetric.localizations import Localizations
from flatmetric.matching.matched import Matched
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import ScoreOptions
from flatmetric.quality.field import with_field
from flatmetric.quality.findings import Finding, Findings, findings_of_files
from flatmetric.scoring.score import Score, aside, matched_tables, score_matched


def score_and_check(truth: Localizations, pred: Localizations, options: ScoreOptions, name: str = "result") -> Score:
    """The score of two tables with what looks wrong about them; intervals are left to others.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> score_and_check(t, t.select([False, False]), ScoreOptions()).findings[0].what()
    'there is no detection at all'
    """
    rules, of_field = with_field(options.rules, truth, pred)
    matched = matched_tables(truth, pred, rules, options.execution.threads)
    findings = findings_of_files(truth, pred, matched.warnings, of_field)
    with aside(matched.threads) as begun:
        checked = begun(lambda: _checked(matched, options.metrics.lam, rules) if options.check else ())
        scored = score_matched(matched, options.metrics, rules)
        findings += checked()
    return dataclasses.replace(scored, name=name, findings=Findings(tuple(findings), truth, pred, scored.lam))


def _checked(matched: Matched, lam: float, rules: Protocol) -> Iterable[Finding]:
    from flatmetric.quality.checking import check_window

    return check_window(matched.truth, matched.pred, lam, rules, matched.dim, matched.threads)
