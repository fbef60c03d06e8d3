"""Reading and scoring a file from a stranger, in a process of its own with limits: python -m flatmetric.server.child.

One request as JSON on standard input, one answer on standard output.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any


def _limit(memory: int, seconds: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _preview(request: dict[str, Any]) -> dict[str, Any]:
    """How a file is understood and what is wrong with it, without any truth."""
    from flatmetric.formats.read import read_file
    from flatmetric.options.reading import ReadOptions
    from flatmetric.quality.inspect import inspect_table
    from flatmetric.quality.validation import Expected, problems_of

    table = read_file(Path(request["path"]), ReadOptions(**request["reading"]), threads=1)
    field, frames = (None if pair is None else tuple(pair) for pair in (request["field"], request["frames"]))
    expected = Expected(field, frames)
    problems = problems_of(table, expected)
    content = dataclasses.asdict(inspect_table(table, expected.fov)) | {"file": request["name"]}
    return {"problems": problems, "inspection": content}


def _score(request: dict[str, Any]) -> dict[str, Any]:
    """The entry of a file on each board, its curve, and what is wrong with it."""
    import numpy as np

    from flatmetric.challenges.drafts import notes_for_team
    from flatmetric.challenges.store import entry_to_bytes
    from flatmetric.challenges.suspects import find_suspects
    from flatmetric.formats.read import read_file
    from flatmetric.options.reading import ReadOptions
    from flatmetric.scoring.checked import score_and_check
    from flatmetric.server.rules import BoardRules
    from flatmetric.statistics.entries import entry_of

    options = BoardRules.from_json(request["rules"]).options(Path(request["folder"])).for_one(threads=1)
    truth = read_file(Path(request["truth"]), options.truth, threads=1)
    pred = read_file(Path(request["path"]), ReadOptions(**request["reading"]), threads=1)
    boards = {}
    for board, (first, last) in request["boards"].items():
        window = {name: value for name, value in (("first_frame", first), ("last_frame", last)) if value is not None}
        rules = dataclasses.replace(options.rules, **window)
        score = score_and_check(truth, pred, dataclasses.replace(options, rules=rules))
        entry = entry_of("", "", score)
        suspects = find_suspects([entry], score.lam)
        faults = [one for one in score.findings if one.is_fault and one.severity != "note"]
        wrong = ("", "") in suspects.certain
        if not np.isfinite(entry.metrics["flat_metric"] or 0.0):
            raise ArithmeticError("the score is not finite")
        grid = np.linspace(0.0, 2 * score.lam, 26)
        boards[board] = {
            "value": entry.metrics["flat_metric"],
            "entry": base64.b64encode(entry_to_bytes(entry)).decode(),
            "curve": [grid.tolist(), score.curve(2 * score.lam)(grid).tolist()],
            "words": ([one.for_its_team() for one in faults] or ["the file looks wrong"]) if wrong else [],
            "remarks": suspects.remarks.get(("", ""), []),
            # Not whether it is worse than an empty file: that would be an exact comparison with the truth.
            "notes": notes_for_team("no detection") if entry.rows == 0 and not wrong else [],
        }
    return {"boards": boards, "sha256": [truth.provenance.sha256, pred.provenance.sha256]}


def main() -> None:
    """Answer the request."""
    request = json.load(sys.stdin)
    _limit(request["memory"], request["seconds"])
    from flatmetric.errors import InputError, printable

    try:
        answer = {"preview": _preview, "score": _score}[request["what"]](request)
    except InputError as error:
        # A file is called as its team calls it, and no path of this machine is told.
        text = str(error).replace(request["path"], request["name"]).replace(str(Path(request["path"]).parent), "")
        text = text.replace(str(request.get("truth", request["path"])), "the truth")
        answer = {"refused": printable(text).removeprefix(f"{request['name']}: ")}
    except MemoryError:
        answer = {"refused": "takes more memory than a file here may"}
    json.dump(answer, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
