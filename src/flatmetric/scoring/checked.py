"""A score with the findings of its check: what looked wrong with the files as they were read, matched and compared."""

from __future__ import annotations

import dataclasses

from flatmetric.localizations import Localizations
from flatmetric.options.scoring import ScoreOptions
from flatmetric.quality.field import with_field
from flatmetric.quality.findings import Findings, findings_of_files
from flatmetric.scoring.score import Score, score_tables


def score_and_check(truth: Localizations, pred: Localizations, options: ScoreOptions, name: str = "result") -> Score:
    """The score of two tables with what looks wrong about them; intervals are left to others.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> score_and_check(t, t.select([False, False]), ScoreOptions()).findings[0].what()
    'there is no detection at all'
    """
    rules, of_field = with_field(options.rules, truth, pred)
    truth.check_has_rows()
    scored = score_tables(truth, pred, options.metrics, rules, threads=options.execution.threads)
    findings = findings_of_files(truth, pred, scored.matched.warnings, of_field)
    if options.check:
        from flatmetric.quality.checking import check_window

        matched = scored.matched
        findings += check_window(matched.truth, matched.pred, scored.lam, rules, scored.dim, matched.threads)
    return dataclasses.replace(scored, name=name, findings=Findings(tuple(findings), truth, pred, scored.lam))
