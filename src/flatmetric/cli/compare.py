"""`flatmetric compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.submissions import program_names
from flatmetric.cli import text
from flatmetric.cli.options import (
    Argument,
    Certainty,
    Json,
    ReadingTruth,
    Report,
    Scoring,
    Truth,
    changed,
    command,
    option,
)
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, this_command, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.errors import InputError
from flatmetric.scoring.score import score as score_tables
from flatmetric.sentences import result_warnings
from flatmetric.statistics.comparison import LEAD_FROM, LEAD_TO, compare_scores, lead_over


class CompareFlags(ReadingTruth, Report, Json, Certainty, Scoring):
    """The options of `compare`."""

    section: ClassVar[str] = "Output"

    ci: float | None = changed(Certainty, "ci", 95.0)
    curve: bool = option(False, "Also say for which lam which result is better.")


@command
def compare(
    truth: Truth,
    results: Annotated[tuple[Path, ...], Argument("RESULT", "Two or more results.", many=True)],
    options: CompareFlags,
) -> None:
    """Rank two or more RESULTs on one TRUTH by Flat Metric, with intervals and paired differences over frames."""
    if len(results) < 2:
        raise InputError("one result can't be compared; give two or more")
    scoring, certainty, names = options.scoring(), options.certainty(), program_names(list(results))
    check_outputs([options.json, options.report], [truth, *results, *options.rule_files()])
    true = read_with_progress(truth, options.reading_truth(), options.threads)
    tables = [read_with_progress(path, options.reading(), options.threads) for path in results]
    scores = [score_tables(true, table, **scoring.keywords(), threads=options.threads) for table in tables]
    comparison = compare_scores(dict(zip(names, scores, strict=True)), certainty)
    content, lead = comparison.to_dict(), None
    if options.curve:
        lead = lead_over(comparison, LEAD_FROM, LEAD_TO)
        content["lead"] = lead.to_dict()
    ranked = list(zip(comparison.names, comparison.scores, strict=True))
    if options.report is not None:
        from flatmetric.pages.score_page import Scored, comparison_page

        files = dict(zip(names, tables, strict=True))
        warnings = {name: result_warnings(true, files[name], one) for name, one in ranked}
        pages = [Scored(name, one, warnings=tuple(map(text.as_flags, warnings[name]))) for name, one in ranked]
        write_text(comparison_page(comparison, pages, this_command()), options.report)
    text.print_warnings(true, *tables)
    for name, score in ranked:
        for warning in score.warnings:
            text.print_warning(f"{name}: {warning}")
    if options.json is not None:
        write_json(content, options.json)
    if options.json == STANDARD_OUTPUT:
        return
    print(text.comparison_text(comparison))
    if lead is not None:
        print("\n" + text.lead_text(lead))
    if options.report is not None:
        print(f"\nwritten: {options.report}")
