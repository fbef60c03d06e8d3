"""`flatmetric check`: look for systematic errors in a result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from flatmetric._shown import look_of
from flatmetric.api.check import CheckArguments
from flatmetric.api.check import check as check_files
from flatmetric.api.options import Option, only
from flatmetric.api.rules import rule_files
from flatmetric.cli import text
from flatmetric.cli.options import Json, Report, Result, Truth, command
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, print_assumption, this_command, write_json
from flatmetric.cli.progress import progress_bar
from flatmetric.formats.write import files_of, writable_format, write


class CheckFlags(CheckArguments, Report, Json, total=False):
    """The options of `check`."""

    apply: Annotated[
        Path | None, Option("Write RESULT with everything fixed that can be.", section="Output", metavar="OUT")
    ]
    strict: Annotated[bool, Option("Exit with code 1 if the file is probably wrong.", False, section="Output")]


@command
def check(truth: Truth, result: Result, options: CheckFlags) -> None:
    """Whether RESULT is right as a whole: frames, axes, unit, scale, rotation, drift, shift, sign of z, rows, border.

    flatmetric check truth.csv mine.csv
    flatmetric check truth.csv mine.csv --apply fixed.csv
    """
    target = options["apply"]
    outputs = [] if target is None else files_of(target, writable_format(target, None))
    check_outputs([options["json"], options["report"], *outputs], [truth, result, *rule_files(options)])
    with progress_bar() as progress:
        findings = check_files(truth, result, progress=progress, **only(options, CheckArguments))
    assert findings.truth is not None and findings.pred is not None
    if target is not None:
        write(findings.apply(findings.pred), target, writable_format(target, None))
    if options["report"] is not None:
        look_of(findings).report(findings, options["report"], this_command(), text.as_flags)
    if options["json"] is not None:
        content = findings.to_dict()
        for one in content["findings"]:
            one["mend"] = one["fix"] = text.as_flags(one["fix"])
        write_json(content, options["json"])
    if options["json"] != STANDARD_OUTPUT:
        print(text.as_flags(str(findings)))
        written = [*map(str, outputs), *([str(options["report"])] if options["report"] else [])]
        if written:
            print(f"written: {', '.join(written)}")
    for assumption in (*findings.truth.provenance.assumed("truth_"), *findings.pred.provenance.assumed()):
        print_assumption(assumption)
    if options["strict"] and any(finding.is_fault for finding in findings):
        sys.exit(1)
