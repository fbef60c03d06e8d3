"""`flatmetric check`: whether the file is right at all."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flatmetric.cli import options, text
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.formats.write import files_of, writable_format, write
from flatmetric.quality.misalignment import Finding, apply_fix, check_tables
from flatmetric.sentences import finding_sentence
from flatmetric.version import __version__


@dataclass(frozen=True)
class CheckOutput(options.Group):
    """What `check` writes."""

    section: ClassVar[str] = "Output"

    apply: Path | None = options.option(None, "Write RESULT with all findings fixed.", metavar="OUT")


@options.command
def check(
    truth: options.Truth,
    result: options.Result,
    metrics: options.LamOptions,
    output: CheckOutput,
    json: options.JsonOptions,
    threads: options.ThreadOptions,
    reading: options.ReadOptionsForAll,
    result_file: options.ResultFileOptions,
    truth_file: options.TruthFileOptions,
) -> None:
    """Look for a shift, wrong frames, exchanged or mirrored axes, a wrong unit, repeated or missing rows in RESULT."""
    outputs = [] if output.apply is None else files_of(output.apply, writable_format(output.apply, None))
    check_outputs([json.json, *outputs], [truth, result])
    true = read_with_progress(truth, reading.for_file(truth_file), threads.threads)
    pred = read_with_progress(result, reading.for_file(result_file), threads.threads)
    findings = check_tables(true, pred, lam=metrics.lam, threads=threads.threads)
    if output.apply is not None:
        fixed = pred
        for finding in findings:
            fixed = apply_fix(fixed, finding)
        write(fixed, output.apply, writable_format(output.apply, None))
    text.print_warnings(true, pred)
    if json.json is not None:
        content = {"version": __version__, "lam_nm": metrics.lam, "findings": [_content(one) for one in findings]}
        write_json(content, json.json)
    if json.json != STANDARD_OUTPUT:
        sentences = [text.as_flags(finding_sentence(finding)) for finding in findings]
        print("\n".join(sentences) or "Nothing looks wrong.")
        if outputs:
            print(f"written: {', '.join(map(str, outputs))}")


def _content(finding: Finding) -> dict[str, object]:
    """A finding as plain values; `mend` is the older name of `fix`."""
    fix = text.as_flags(finding.fix)
    values = dataclasses.asdict(finding)
    del values["fix"]
    return values | {"mend": fix, "fix": fix}
