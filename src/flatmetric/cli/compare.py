"""`flatmetric compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric.api.compare import compare as compare_results
from flatmetric.cli import text
from flatmetric.cli.cluster import Cluster, cluster
from flatmetric.cli.options import Argument, Json, Keywords, ReportOnImages, Truth, command
from flatmetric.cli.output import (
    STANDARD_OUTPUT,
    check_outputs,
    check_stack,
    print_assumption,
    print_finding,
    rule_files,
    write_json,
)
from flatmetric.cli.progress import progress_bar
from flatmetric.options.base import option


@dataclass(frozen=True, kw_only=True)
class CompareFlags(ReportOnImages, Json, Cluster):
    """The flags of `compare` besides those of `fm.compare`."""

    curve: bool = option(False, "Also show which result leads at each lam.", section="Output")


@command(
    compare_results,
    often=(
        "lam",
        "protocol",
        "dim",
        "ci",
        "curve",
        "report",
        "stack",
        "json",
        "unit",
        "pixel_size",
        "frame_base",
        "columns",
    ),
)
def compare(
    truth: Truth,
    results: Annotated[tuple[Path, ...], Argument("RESULT", "Two or more results.", many=True)],
    keywords: Keywords,
    flags: CompareFlags,
) -> None:
    """Test which of two or more RESULTs is better on one TRUTH, and by how much.

    flatmetric compare truth.csv mine.csv other.csv
    flatmetric compare truth.csv mine.csv other.csv --curve --report page.html

    Reading options that only one file needs go into a submissions.toml beside it: ["mine.csv"], and below it
    unit = "px".
    """
    check_outputs([flags.json, flags.report], [truth, *results, *rule_files(keywords)])
    check_stack(flags)
    with cluster(flags.scheduler, [truth, *results]) as executor, progress_bar() as progress:
        comparison = compare_results(truth, list(results), progress=progress, executor=executor, **keywords)
    content, lead = comparison.to_dict(), None
    if flags.curve:
        lead = comparison.lead()
        content["lead"] = lead.to_dict()
    if flags.report is not None:
        comparison.report(flags.report, stack=flags.stack)
    ranked = list(zip(comparison.names, comparison.scores, strict=True))
    if flags.json is not None:
        write_json(content, flags.json)
    if flags.json != STANDARD_OUTPUT:
        print(text.comparison_text(comparison))
        if lead is not None:
            print("\n" + text.lead_text(lead))
        if flags.report is not None:
            print(f"\nwritten: {flags.report}")
    remarks = comparison.remarks
    for sentence in remarks.shared:
        print_finding(sentence, "note")
    for name, findings in remarks.own.items():
        for finding in findings:
            print_finding(f"{name}: {finding.for_one_file()}", finding.severity)
    for assumption in dict.fromkeys(sentence for _, score in ranked for sentence in score.assumptions()):
        print_assumption(assumption)
