"""`flatmetric compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.submissions import program_names
from flatmetric.cli import options, text
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, this_command, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.errors import InputError
from flatmetric.quality.misalignment import check_window
from flatmetric.scoring.score import score as score_tables
from flatmetric.sentences import finding_sentence
from flatmetric.statistics.comparison import compare_scores, lead_over

if TYPE_CHECKING:
    from flatmetric.scoring.score import Score

LEAD_FROM, LEAD_TO = 10.0, 250.0  # nm: the range of lam over which the lead is shared out


@dataclass(frozen=True)
class CompareOutput(options.Group):
    """What `compare` adds to its text."""

    section: ClassVar[str] = "Output"

    curve: bool = options.option(False, "Also say for which lam which result is better.")


@options.command
def compare(
    truth: options.Truth,
    results: options.Results,
    metrics: options.MetricOptions,
    rules: options.ProtocolOptions,
    output: CompareOutput,
    json: options.JsonOptions,
    report: options.ReportOptions,
    threads: options.ThreadOptions,
    reading: options.ReadOptionsForAll,
    result_file: options.ResultFileOptions,
    truth_file: options.TruthFileOptions,
    certainty: options.BootstrapOptions = options.BootstrapOptions(ci=95.0),
) -> None:
    """Rank two or more RESULTs on one TRUTH by Flat Metric, with intervals and paired differences over frames."""
    if len(results) < 2:
        raise InputError("one result can't be compared; give two or more")
    scoring, bootstrap = metrics.with_protocol(rules.apply()), certainty.apply()
    check_outputs([json.json, report.report], [truth, *results, *rules.files()])
    true = read_with_progress(truth, reading.for_file(truth_file), threads.threads)
    tables = [read_with_progress(path, reading.for_file(result_file), threads.threads) for path in results]
    scores = [score_tables(true, table, **scoring.keywords(), threads=threads.threads) for table in tables]
    comparison = compare_scores(dict(zip(program_names(list(results)), scores, strict=True)), bootstrap)
    content, lead = comparison.to_dict(), None
    if output.curve:
        lead = lead_over(comparison, LEAD_FROM, LEAD_TO)
        content["lead"] = lead.to_dict()
    if report.report is not None:
        from flatmetric.pages.score_page import Scored, comparison_page

        ranked = zip(comparison.names, comparison.scores, strict=True)
        pages = [Scored(name, score, warnings=_warnings(score)) for name, score in ranked]
        write_text(comparison_page(comparison, pages, this_command()), report.report)
    text.print_warnings(true, *tables)
    for name, score in zip(comparison.names, comparison.scores, strict=True):
        for warning in score.warnings:
            text.print_warning(f"{name}: {warning}")
    if json.json is not None:
        write_json(content, json.json)
    if json.json == STANDARD_OUTPUT:
        return
    print(text.comparison_text(comparison))
    if lead is not None:
        print("\n" + text.lead_text(lead))
    if report.report is not None:
        print(f"\nwritten: {report.report}")


def _warnings(score: Score) -> tuple[str, ...]:
    """What looks wrong with a result: its file, its frames, and the findings of a short check."""
    matched = score.matched
    findings = check_window(matched.truth, matched.pred, lam=score.lam, threads=matched.threads)
    sentences = (*matched.pred.provenance.warnings, *score.warnings, *map(finding_sentence, findings))
    return tuple(map(text.as_flags, sentences))
