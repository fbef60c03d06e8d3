"""A board with its folder, files and database; its versions, under which everything is scored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric._dataclass import dataclass
from flatmetric._files import json_text, make_folder, write_text
from flatmetric.challenges.submissions import find_submissions, find_truth
from flatmetric.errors import InputError
from flatmetric.formats.file_options import options_of_file
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions
from flatmetric.quality.validation import ends_early
from flatmetric.server.audit import add_to_log, in_turn
from flatmetric.server.database import Database
from flatmetric.server.files import FileStore
from flatmetric.server.queue import add_rank_job, add_score_job
from flatmetric.server.rules import BoardRules, read_rules
from flatmetric.server.schema import jobs, scores, submissions, teams, versions
from flatmetric.version import __version__

OWN_FOLDER = "server"
"""The folder of a board with its database and files."""
_INSIDE = 0.98  # of the molecules lie in the field: a few may be at its edge
_FILLED = 0.1  # of the field, at least, has molecules: less means another unit
_SHORT = 200  # characters of what changed
_LONGEST_BASELINE = 60  # characters of a program's name
_BASELINES = "baselines"  # the team of the results that lie in the folder


@dataclass(frozen=True, eq=False)
class Version:
    """The board under certain rules and truths; `truths` are hashes by data set."""

    id: int
    rules: BoardRules
    truths: Mapping[str, str]
    settings: str

    def boards(self, dataset: str) -> Mapping[str, Any]:
        """The first and last frame of a data set on each board."""
        return self.rules.dataset(dataset).boards()

    def score_key(self, dataset: str, sha256: str, reading: str) -> str:
        """What a score depends on: the file and how it is read, the truth, the rules, the version of the package."""
        parts = [sha256, reading, self.truths[dataset], self.settings, json.dumps(self.boards(dataset)), __version__]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class WebBoard:
    """A folder of data sets that is served."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a folder; give one with DATASET/truth.*")
        self.folder = folder.resolve()
        self.files = FileStore(self.folder / OWN_FOLDER)
        self.database = Database(database or f"sqlite:///{self.folder / OWN_FOLDER / 'board.sqlite'}")
        self._versions: dict[int, Version] = {}

    def version(self, connection: Connection, number: int) -> Version:
        """One version; it never changes."""
        if number not in self._versions:
            row = connection.execute(sa.select(versions).where(versions.c.id == number)).mappings().one()
            rules = BoardRules.from_json(row["rules"])
            self._versions[number] = Version(number, rules, json.loads(row["truths"]), row["settings"])
        return self._versions[number]

    def published(self, connection: Connection) -> Version:
        """The version that everybody sees."""
        return self.version(connection, _newest(connection, versions.c.published.is_not(None)))

    def newest(self, connection: Connection) -> Version:
        """The version by which new files are scored."""
        return self.version(connection, _newest(connection))

    def is_closed(self, connection: Connection) -> bool:
        """Whether nothing is taken any more, so that the final board may be seen: also by rules that are not published
        yet.
        """
        at, both = self.database.now(connection), (self.published(connection), self.newest(connection))
        return all(one.rules.state(at) == "closed" for one in both)

    def rank_again(self, connection: Connection, at: float) -> None:
        """Queue new rankings of what everybody sees, and of the version that may replace it."""
        for number in {self.published(connection).id, self.newest(connection).id}:
            add_rank_job(connection, at, number)

    def open(self) -> None:
        """Make or migrate the tables, make the first version, and take over the results in the folder. A mistake in the
        folder leaves nothing behind.
        """
        read_rules(self.folder)
        self._truths()
        make_folder(self.folder / OWN_FOLDER)
        self.files.make()
        self.database.migrate()
        with self.database.reading() as connection:
            first = connection.execute(sa.select(sa.func.count()).select_from(versions)).scalar_one() == 0
        if first:
            self.apply_changes("server", "the board was opened")
        self.import_results()

    def changes(self) -> tuple[list[str], BoardRules, dict[str, str]]:
        """What differs between the folder and the newest version, in sentences; the rules and truths of the folder."""
        rules, truths = self._with_own_files(read_rules(self.folder)), self._truths()
        for name in rules.datasets:
            if name not in truths:
                raise InputError(
                    f"board.toml: datasets.{name} has no folder with a truth; add one, or remove the table"
                )
        options = rules.options(self.folder)
        for name, path in truths.items():
            _check_truth(name, rules, read_file(path, options.truth))
        hashes = {name: self.files.add(path) for name, path in truths.items()}
        with self.database.reading() as connection:
            if connection.execute(sa.select(sa.func.count()).select_from(versions)).scalar_one() == 0:
                return ["the board is new"], rules, hashes
            before = self.newest(connection)
        told = [f"{name} is new" for name in hashes if name not in before.truths]
        told += [f"{name} was removed" for name in before.truths if name not in hashes]
        told += [
            f"the truth of {name} was replaced"
            for name in hashes
            if hashes[name] != before.truths.get(name, hashes[name])
        ]
        return told + _differences("", _plain(rules), _plain(before.rules)), rules, hashes

    def apply_changes(self, who: str, reason: str) -> int:
        """Make a version of what is in the folder now, and queue everything that has to be scored again: its number."""
        told, rules, hashes = self.changes()
        if not told:
            raise InputError("nothing has changed in the folder of the board; edit board.toml or replace a truth first")
        settings = _settings(rules, self.folder)
        with self.database.writing() as connection:
            in_turn(connection)
            at = self.database.now(connection)
            row = {"created": at, "reason": reason, "changes": json.dumps(told), "rules": rules.to_json()}
            row |= {"truths": json.dumps(hashes, sort_keys=True), "settings": settings, "package": __version__}
            first = connection.execute(sa.select(sa.func.count()).select_from(versions)).scalar_one() == 0
            row |= {"published": at if first else None}
            number = int(connection.execute(versions.insert().values(**row).returning(versions.c.id)).scalar_one())
            version = Version(number, rules, hashes, settings)
            content = {"version": number, "reason": reason, "changes": told, "truths": hashes, "package": __version__}
            content["rules"] = hashlib.sha256(rules.to_json().encode()).hexdigest()
            add_to_log(connection, at, who, "new version", **content)
            handed_in = sa.select(submissions).where(submissions.c.handed_in.is_not(None)).order_by(submissions.c.id)
            for one in connection.execute(handed_in).mappings().all():
                if one["dataset"] in hashes:
                    _score_again(connection, at, version, one, self.files.path(one["sha256"]).is_file())
            add_rank_job(connection, at, number)
        return number

    def import_results(self) -> None:
        """Hand in the results that lie in the folder, as baselines, unless that was done before."""
        try:
            found = find_submissions(self.folder, self.folder / OWN_FOLDER)
        except InputError:
            return  # no results yet
        with self.database.writing() as connection:
            in_turn(connection)
            at, version = self.database.now(connection), self.newest(connection)
            who = _team_of_baselines(connection, at)
            for one in found.results:
                if one.dataset not in version.truths or not one.result.is_file():
                    continue
                if len(one.program) > _LONGEST_BASELINE:
                    raise InputError(
                        f"{one.result}: has a name of {len(one.program)} characters; give it a shorter one"
                    )
                sha256, reading = self.files.add(one.result), _given(options_of_file(one.result, ReadOptions()))
                mine = (
                    submissions.c.team == who,
                    submissions.c.dataset == one.dataset,
                    submissions.c.program == one.program,
                )
                same = submissions.c.sha256 == sha256, submissions.c.reading == json.dumps(reading, sort_keys=True)
                known = connection.execute(sa.select(submissions.c.id).where(*mine, *same)).scalars().first()
                if known is not None:
                    others = sa.select(submissions.c.id).where(
                        *mine, submissions.c.id != known, submissions.c.withdrawn.is_(None)
                    )
                    if connection.execute(others).first() is None:
                        continue
                    connection.execute(submissions.update().where(*mine).values(withdrawn=at))
                    connection.execute(submissions.update().where(submissions.c.id == known).values(withdrawn=None))
                    add_rank_job(connection, at, version.id)
                    continue
                connection.execute(submissions.update().where(*mine).values(withdrawn=at))  # an older result
                values = {"team": who, "dataset": one.dataset, "program": one.program, "sha256": sha256, "created": at}
                values |= {
                    "reading": json.dumps(reading, sort_keys=True),
                    "preview": "{}",
                    "valid": True,
                    "marked": False,
                }
                values |= {
                    "file_name": one.result.name[-_SHORT:],
                    "size": one.result.stat().st_size,
                    "handed_in": at,
                    "baseline": True,
                }
                row = submissions.insert().values(**values).returning(submissions.c.id)
                number = int(connection.execute(row).scalar_one())
                add_score_job(connection, at, number, version.id)
                add_to_log(connection, at, "server", "baseline", submission=number, sha256=sha256)

    def _with_own_files(self, rules: BoardRules) -> BoardRules:
        """The rules with copies of the files that they name, which nobody edits later."""
        score = dict(rules.score)
        for name in ("protocol", "wobble"):
            if isinstance(score.get(name), str) and (self.folder / score[name]).is_file():
                path = self.folder / score[name]
                copy = Path(OWN_FOLDER) / "rules" / f"{hashlib.sha256(path.read_bytes()).hexdigest()}{path.suffix}"
                make_folder((self.folder / copy).parent)
                write_text(path.read_text(encoding="utf-8"), self.folder / copy)
                score[name] = copy.as_posix()
        return replace(rules, score=score)

    def _truths(self) -> dict[str, Path]:
        found = {}
        for place in sorted(path for path in self.folder.iterdir() if path.is_dir()):
            if place.name != OWN_FOLDER and not place.name.startswith(".") and (truth := find_truth(place)) is not None:
                found[place.name] = truth
        if not found:
            raise InputError(f"{self.folder}: holds no data set; put a truth into DATASET/truth.csv")
        return found


def _check_truth(name: str, rules: BoardRules, truth: Localizations) -> None:
    """An error where what teams are told about a data set doesn't fit its truth."""
    truth.check_has_rows()
    own, at = rules.dataset(name), f"board.toml: datasets.{name}"
    first, last = int(truth.frame.min()), int(truth.frame.max())
    if own.frames is not None and not own.frames[0] <= first <= last <= own.frames[1]:
        raise InputError(f"{at}.frames is {list(own.frames)}, but the truth has frames {first} to {last}")
    if own.frames is not None and ends_early(last, own.frames):  # a result that ends there would be refused
        raise InputError(f"{at}.frames is {list(own.frames)}, but the truth ends at frame {last}")
    for low, high in own.boards().values():
        here = (truth.frame >= (first if low is None else low)) & (truth.frame <= (last if high is None else high))
        if not here.any():
            raise InputError(f"{at}: the truth has no molecule in frames {low or first} to {high or last}")
    if own.field is not None:
        for axis, size in zip((truth.x, truth.y), own.field, strict=True):
            inside = (axis >= 0) & (axis <= size)
            if inside.mean() < _INSIDE or axis.max() < _FILLED * size:
                raise InputError(f"{at}.field is {list(own.field)} nm, but the truth reaches to {axis.max():.4g} nm")


def _plain(rules: BoardRules) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(rules.to_json())
    return content


def _differences(at: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """What differs, as "datasets.MT1.frames is [1, 80], and was [1, 20000]"."""
    told = []
    for name in sorted({*now, *then}):
        here, there = now.get(name), then.get(name)
        if isinstance(here, dict) or isinstance(there, dict):
            told += _differences(f"{at}{name}.", here or {}, there or {})
        elif here != there:
            told.append(f"{at}{name} is {_short(here)}, and was {_short(there)}")
    return told


def _short(value: Any) -> str:
    text = "not given" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


def _settings(rules: BoardRules, folder: Path) -> str:
    """A hash of everything that scores depend on besides files."""
    return hashlib.sha256(json_text(rules.options(folder).settings()).encode()).hexdigest()


def _given(options: ReadOptions) -> dict[str, Any]:
    """Those reading options that are not the defaults."""
    default = asdict(ReadOptions())
    return {name: value for name, value in asdict(options).items() if value != default[name]}


def _newest(connection: Connection, *where: sa.ColumnElement[bool]) -> int:
    return int(connection.execute(sa.select(sa.func.max(versions.c.id)).where(*where)).scalar_one())


def _team_of_baselines(connection: Connection, at: float) -> int:
    known = connection.execute(sa.select(teams.c.id).where(teams.c.role == _BASELINES)).scalar_one_or_none()
    if known is not None:
        return int(known)
    row = teams.insert().values(name=_BASELINES, role=_BASELINES, created=at).returning(teams.c.id)
    return int(connection.execute(row).scalar_one())


def _score_again(connection: Connection, at: float, version: Version, one: Any, is_here: bool) -> None:
    """Copy the scores that nothing has changed for; queue a job for the others."""
    key = version.score_key(one["dataset"], one["sha256"], one["reading"])
    known = (
        sa.select(scores).where(scores.c.submission == one["id"], scores.c.key == key).order_by(scores.c.version.desc())
    )
    done: dict[str, Any] = {}
    for row in connection.execute(known).mappings():
        done.setdefault(row["board"], row)
    if set(done) == set(version.boards(one["dataset"])):
        for row in done.values():
            copy = {name: value for name, value in row.items() if name not in ("id", "version", "accepted", "shown")}
            connection.execute(scores.insert().values(**copy, version=version.id))
        values = {"kind": "score", "submission": one["id"], "version": version.id, "state": "done", "token": 0}
        values |= {"attempts": 0, "lease_until": 0.0, "due": at, "created": at, "finished": at}
        connection.execute(jobs.insert().values(**values))
    elif is_here:
        add_score_job(connection, at, one["id"], version.id)
