"""`flatmetric check`: look for systematic errors in a result."""

from __future__ import annotations

import sys

from flatmetric._dataclass import dataclass
from flatmetric.api.check import check as check_files
from flatmetric.cli import text
from flatmetric.cli.options import Json, Keywords, Report, Result, Strict, Truth, command
from flatmetric.cli.output import (
    STANDARD_OUTPUT,
    check_outputs,
    print_assumption,
    print_unused,
    rule_files,
    table_files,
    write_json,
)
from flatmetric.cli.progress import progress_bar


@dataclass(frozen=True, kw_only=True)
class CheckFlags(Report, Json, Strict):
    """The flags of `check` besides those of `fm.check`."""


@command(
    check_files,
    often=("apply", "lam", "dim", "fov", "report", "json", "strict", "unit", "pixel_size", "frame_base", "columns"),
)
def check(truth: Truth, result: Result, keywords: Keywords, flags: CheckFlags) -> None:
    """Find mistakes in RESULT: frames, axes, unit, scale, rotation, drift, shift, sign of z, rows, border.

    flatmetric check truth.csv mine.csv
    flatmetric check truth.csv mine.csv --apply fixed.csv
    """
    fixed = table_files(keywords["apply"], None)
    check_outputs([flags.json, flags.report, *fixed], [truth, result, *rule_files(keywords)])
    with progress_bar() as progress:
        findings = check_files(truth, result, progress=progress, **keywords)
    if flags.report is not None:
        findings.report(flags.report)
    if flags.json is not None:
        content = findings.to_dict()
        for one in content["findings"]:
            one["mend"] = one["fix"] = text.as_flags(one["fix"])
        write_json(content, flags.json)
    if flags.json != STANDARD_OUTPUT:
        print(text.as_flags(str(findings)))
        written = [*map(str, fixed), *([] if flags.report is None else [str(flags.report)])]
        if written:
            print(f"written: {', '.join(written)}")
    assert findings.truth is not None and findings.pred is not None
    for assumption in (*findings.truth.provenance.assumed("truth_"), *findings.pred.provenance.assumed()):
        print_assumption(assumption)
    for table in (findings.truth, findings.pred):
        print_unused(table.provenance)
    if flags.strict and any(finding.is_fault for finding in findings):
        sys.exit(1)
