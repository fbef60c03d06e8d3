"""The rules of a challenge on the web: what board.toml says, checked when it is read."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from flatmetric._dataclass import dataclass
from flatmetric._files import read_toml
from flatmetric.errors import InputError, nearest
from flatmetric.options.base import build, keywords_of
from flatmetric.options.ranking import RankOptions

FILE = "board.toml"
"""The file beside the data sets."""
PUBLIC, FINAL = "public", "final"
"""The two boards: one that everybody sees all the time, one that opens when the challenge closes."""
_SHOWN = ("parts", "metrics", "curve", "submissions")
_NOT_HERE = ("exclude", "exclude_suspect", "include_suspect", "replace", "jobs", "timeout", "max_rows", "max_bytes")
_MOST = 10**9  # of anything that is counted
HOUR_S = 3_600.0  # seconds
DAY_S = 24 * HOUR_S
"""Seconds."""
Frames = tuple[int, int]
Window = tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True)
class DatasetRules:
    """What participants are told about a data set: `frames`, first and last, and the `field` (width and height, nm),
    which uploads are checked against.

    With `final`, its ranks stay hidden until the challenge closes; with `final_frames`, those of these frames do.
    """

    about: str = ""
    frames: Frames | None = None
    field: tuple[float, float] | None = None
    final: bool = False
    final_frames: Frames | None = None

    def boards(self) -> dict[str, Window]:
        """The first and last frame that count on each board; None where there is no limit.

        Examples
        --------
        >>> DatasetRules(final_frames=(51, 100)).boards()
        {'public': (None, 50), 'final': (51, 100)}
        """
        if self.final:
            return {FINAL: (None, None)}
        if self.final_frames is None:
            return {PUBLIC: (None, None)}
        first, last = self.final_frames
        before = (None, first - 1) if self.frames is None or first > self.frames[0] else (last + 1, None)
        return {PUBLIC: before, FINAL: (first, last)}


@dataclass(frozen=True, kw_only=True)
class Quota:
    """How often a team may submit to a data set: in any 24 hours, and in all. `attempts_per_day` also counts those that
    failed, and `uploads_per_hour` files that were only looked at.
    """

    per_day: int = 5
    total: int = 100
    attempts_per_day: int = 20
    uploads_per_hour: int = 60


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a file may be, in megabytes and rows, and how long scoring it may take, s."""

    megabytes: int = 500
    rows: int = 20_000_000
    memory_megabytes: int = 8_000
    seconds: int = 1_800


@dataclass(frozen=True, kw_only=True)
class BoardRules:
    """The rules of a challenge on the web.

    Times have an offset from UTC. `registration` is "open" or "invitation"; `entry` says which of a team's submissions
    counts on the final board, the "last" or the one the team has "marked"; `show` is what everybody sees of a result
    besides its rank, and `score` are the options of `leaderboard`.
    """

    title: str = "Challenge"
    about: str = ""
    opens: datetime.datetime | None = None
    closes: datetime.datetime | None = None
    registration: Literal["open", "invitation"] = "open"
    entry: Literal["last", "marked"] = "last"
    programs_per_team: int = 1
    show: tuple[str, ...] = _SHOWN
    quota: Quota = field(default_factory=Quota)
    limits: Limits = field(default_factory=Limits)
    score: Mapping[str, Any] = field(default_factory=dict)
    datasets: Mapping[str, DatasetRules] = field(default_factory=dict)

    def dataset(self, name: str) -> DatasetRules:
        """The rules of one data set."""
        return self.datasets.get(name, DatasetRules())

    def options(self, folder: Path) -> RankOptions:
        """The options that scores are computed with; files named in them lie in the folder of the board."""
        given = dict(self.score)
        for name in ("protocol", "wobble"):
            if isinstance(given.get(name), str) and (folder / given[name]).is_file():
                given[name] = folder / given[name]
        return build(RankOptions, given)

    def state(self, now: float) -> Literal["before", "open", "closed"]:
        """Whether files are taken at a time, in seconds since 1970."""
        if self.opens is not None and now < self.opens.timestamp():
            return "before"
        return "closed" if self.closes is not None and now >= self.closes.timestamp() else "open"

    def to_json(self) -> str:
        """Everything as text, for the database; equal rules give equal text."""
        return json.dumps(asdict(self), sort_keys=True, default=lambda time: time.isoformat())

    @classmethod
    def from_json(cls, text: str) -> BoardRules:
        """The rules in such a text."""
        content = json.loads(text)
        for name in ("opens", "closes"):
            if content[name] is not None:
                content[name] = datetime.datetime.fromisoformat(content[name])
        return _made(content, [])


def read_rules(folder: Path) -> BoardRules:
    r"""The rules in the board.toml of a folder; those by default if there is none. Mistakes are one sentence each.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "board.toml").write_text("title = 'Mine'\ncloses = 2027-03-01T12:00:00\n")
    >>> read_rules(folder)
    Traceback (most recent call last):
    flatmetric.errors.InputError: board.toml: closes has no offset from UTC; write 2027-03-01T12:00:00+01:00
    """
    path = folder / FILE
    if not path.is_file():
        return BoardRules(title=folder.resolve().name)
    mistakes: list[str] = []
    rules = _made(read_toml(path), mistakes)
    if not mistakes:
        try:
            rules.options(folder)
        except InputError as error:
            mistakes.append(f"score: {error}")
    if len(mistakes) > 1:
        listed = ". ".join(f"({at}) {one}" for at, one in enumerate(mistakes, 1))
        raise InputError(f"{FILE} has {len(mistakes)} mistakes: {listed}")
    if mistakes:
        raise InputError(f"{FILE}: {mistakes[0]}")
    return rules


def _made(content: Mapping[str, Any], mistakes: list[str]) -> BoardRules:
    known = _checked(BoardRules, content, "", mistakes)
    for name, allowed in (("registration", ("open", "invitation")), ("entry", ("last", "marked"))):
        if known.get(name, allowed[0]) not in allowed:
            mistakes.append(f"{name} is {known[name]!r}; give {' or '.join(allowed)}")
    for name in ("opens", "closes"):
        time = known.get(name)
        if isinstance(time, datetime.datetime) and time.tzinfo is None:
            mistakes.append(f"{name} has no offset from UTC; write {time.isoformat()}+01:00")
        elif time is not None and not isinstance(time, datetime.datetime):
            mistakes.append(f"{name} is {time}; write a time with its offset, as 2027-03-01T23:59:59+01:00")
    known["show"] = tuple(known.get("show", _SHOWN))
    for one in known["show"]:
        if one not in _SHOWN:
            mistakes.append(f"show has {one!r}; give some of {', '.join(_SHOWN)}")
    for name, kind in (("quota", Quota), ("limits", Limits)):
        table = _checked(kind, known.get(name, {}), f"{name}.", mistakes)
        known[name] = kind(**table)
        mistakes += [
            f"{name}.{one} is {value!r}; give a whole number from 1 to {_MOST}"
            for one, value in table.items()
            if _bad(value)
        ]
    if _bad(known.get("programs_per_team", 1)):
        mistakes.append(f"programs_per_team is {known['programs_per_team']!r}; give a whole number from 1")
    options = set(keywords_of(RankOptions)) - set(_NOT_HERE)
    for name in known.get("score", {}):
        if name not in options:
            mistakes.append(f"score has {name!r}; {_meant(name, options)}")
    datasets = {}
    for name, table in known.get("datasets", {}).items():
        own = _checked(DatasetRules, table, f"datasets.{name}.", mistakes)
        for key in ("frames", "field", "final_frames"):
            if own.get(key) is not None:
                pair = own[key]
                fits = isinstance(pair, (list, tuple)) and len(pair) == 2
                if not fits or not all(isinstance(one, (int, float)) and one > 0 for one in pair):
                    example = "[6400, 6400]" if key == "field" else "[1, 5000]"
                    mistakes.append(f"datasets.{name}.{key} is {pair!r}; give two numbers above 0, as {example}")
                elif key != "field" and (any(isinstance(one, float) for one in pair) or pair[0] > pair[1]):
                    mistakes.append(f"datasets.{name}.{key} is {pair!r}; give the first and the last frame")
                else:
                    own[key] = tuple(pair)
        if not mistakes and own.get("final_frames") is not None:
            frames, final = own.get("frames"), own["final_frames"]
            fits = frames is not None and frames[0] <= final[0] and final[1] <= frames[1]
            at_end = frames is not None and fits and (final[0] == frames[0]) != (final[1] == frames[1])
            if own.get("final") or not at_end:
                at = f"datasets.{name}"
                needed = (
                    f"needs {at}.frames, the first and last frame of the data set"
                    if frames is None
                    else f"does not go with {at}.final, which hides the whole data set"
                    if own.get("final")
                    else f"is {list(final)}; give the first or the last part of {at}.frames, which is {list(frames)}"
                )
                mistakes.append(f"{at}.final_frames {needed}")
        datasets[name] = DatasetRules(**own)
    opens, closes = known.get("opens"), known.get("closes")
    if not mistakes and opens is not None and closes is not None and closes <= opens:
        mistakes.append("closes comes before opens; exchange them")
    return BoardRules() if mistakes else BoardRules(**known | {"datasets": datasets})


def _bad(value: Any) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST


def _checked(kind: type, given: Any, where: str, mistakes: list[str]) -> dict[str, Any]:
    """The entries of a table whose names are known, and whose texts and tables are such."""
    if not isinstance(given, Mapping):
        mistakes.append(f"{where.rstrip('.')} is {given!r:.40}; make it a table")
        return {}
    fields: dict[str, Any] = kind.__dataclass_fields__  # type: ignore[attr-defined]
    known = {}
    for name, value in given.items():
        if name not in fields:
            mistakes.append(f"there is no {where}{name}; {_meant(name, fields)}")
            continue
        wanted: Any = {"str": str, "bool": bool}.get(fields[name].type)
        wanted = Mapping if fields[name].type.startswith("Mapping") else wanted
        wanted = (list, tuple) if fields[name].type.startswith("tuple[str") else wanted
        if wanted is not None and not isinstance(value, wanted):
            what = {str: "a text", bool: "true or false", Mapping: "a table"}.get(wanted, "a list of texts")
            mistakes.append(f"{where}{name} is {value!r:.40}; give {what}")
        else:
            known[name] = value
    return known


def _meant(name: str, known: Any) -> str:
    close = nearest(name, known)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
