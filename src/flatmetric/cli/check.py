"""`flatmetric check`: look for systematic errors in a result."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import ClassVar

from flatmetric.cli import text
from flatmetric.cli.options import Json, Lam, ReadingTruth, Result, Truth, command, option
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.formats.write import files_of, writable_format, write
from flatmetric.quality.misalignment import Finding, apply_fix, check_tables
from flatmetric.sentences import finding_sentence
from flatmetric.version import __version__


class CheckFlags(ReadingTruth, Json, Lam):
    """The options of `check`."""

    section: ClassVar[str] = "Output"

    apply: Path | None = option(None, "Write RESULT with all findings fixed.", metavar="OUT")


@command
def check(truth: Truth, result: Result, options: CheckFlags) -> None:
    """Look for a shift, wrong frames, exchanged or mirrored axes, a wrong unit, repeated or missing rows in RESULT."""
    outputs = [] if options.apply is None else files_of(options.apply, writable_format(options.apply, None))
    check_outputs([options.json, *outputs], [truth, result])
    true = read_with_progress(truth, options.reading_truth(), options.threads)
    pred = read_with_progress(result, options.reading(), options.threads)
    findings = check_tables(true, pred, lam=options.lam, threads=options.threads)
    if options.apply is not None:
        fixed = pred
        for finding in findings:
            fixed = apply_fix(fixed, finding)
        write(fixed, options.apply, writable_format(options.apply, None))
    text.print_warnings(true, pred)
    if options.json is not None:
        content = {"version": __version__, "lam_nm": options.lam, "findings": [_content(one) for one in findings]}
        write_json(content, options.json)
    if options.json != STANDARD_OUTPUT:
        sentences = [text.as_flags(finding_sentence(finding)) for finding in findings]
        print("\n".join(sentences) or "Nothing looks wrong.")
        if outputs:
            print(f"written: {', '.join(map(str, outputs))}")


def _content(finding: Finding) -> dict[str, object]:
    """A finding as plain values; `mend` repeats `fix` under its old name."""
    fix = text.as_flags(finding.fix)
    values = dataclasses.asdict(finding)
    del values["fix"]
    return values | {"mend": fix, "fix": fix}
