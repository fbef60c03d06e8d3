"""`submit`: a result to a challenge on the web."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from flatmetric._dataclass import dataclass
from flatmetric._files import check_readable
from flatmetric.errors import InputError, printable
from flatmetric.execution.progress import Progress
from flatmetric.options.base import REQUIRED, group, option, takes
from flatmetric.options.reading import OF_A_SUBMISSION, ReadOptions
from flatmetric.options.serving import LOOPBACK

if TYPE_CHECKING:
    import http.client

_TOKEN = "FLATMETRIC_TOKEN"
_PATIENCE_S = 300.0  # for an answer of the server: it reads the file first
_POLL_S = 1.0  # scoring takes about as long
_PIECE = 1 << 20  # bytes that are sent at once
_WAITING = ("waiting", "being scored", "being ranked")


@dataclass(frozen=True, kw_only=True)
class SubmitOptions:
    """The options of `submit`."""

    dataset: str = option(REQUIRED, "Data set that the result is for.", metavar="NAME")
    program: str | None = option(
        None,
        "Name of the program on the board; default: as before, else that of the file.",
        metavar="NAME",
    )
    note: str = option("", "What is new, for your own history.", metavar="TEXT")
    token: str | None = option(
        None, f"Token of your account; default: the environment variable {_TOKEN}.", metavar="TOKEN"
    )
    dry_run: bool = option(False, "Only upload and look at what is understood; this costs no quota.")
    wait: bool = option(False, "Wait until the result is scored and ranked.")
    reading: ReadOptions = group(ReadOptions, only=OF_A_SUBMISSION, file="FILE")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a board answered: where the submission is, its state, what was understood, and its rounded result."""

    url: str
    state: str
    problems: tuple[str, ...]
    understood: Mapping[str, Any]
    queue: int | None = None
    sentence: str = ""
    result: Mapping[str, Any] | None = None
    place: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        lines = [f"{self.url}: {self.state}" + ("" if self.queue is None else f", place {self.queue} in the queue")]
        seen = self.understood
        if seen:
            frames = "" if not seen["frames"] else f", frames {seen['frames'][0]} to {seen['frames'][1]}"
            lines.append(f"read as {seen['format']}: {seen['rows']} rows{frames}")
        lines += [f"  - {problem}" for problem in self.problems]
        if self.sentence:
            lines.append(self.sentence)
        if self.result is not None:
            lines.append(f"Flat Metric {self.result['flat_metric']:g} nm")
        if self.place is not None and self.place["place"] is not None:
            lines.append(f"place {self.place['place']} on the board")
        return "\n".join(map(printable, lines))


@takes(SubmitOptions)
def submit(
    url: str, file: str | os.PathLike[str], *, progress: Progress | None = None, options: SubmitOptions
) -> Receipt:
    """Upload a result to a challenge that `flatmetric serve` serves, and hand it in.

    A file with problems is not handed in, and costs no quota: they are in the `problems` of what is returned.

    Parameters
    ----------
    url
        Address of the board.
    file
        The result, in any format that `read` knows.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> fm.submit("http://example.org", "mine.csv", dataset="MT1", token="fm_x")
    Traceback (most recent call last):
    flatmetric.errors.InputError: a token must not travel over http; give an address with https
    """
    board, path = _Board.at(url, options.token), Path(file)
    check_readable(path)
    # Only what was given: the board knows the defaults.
    given = {name: _text(getattr(options.reading, name)) for name in OF_A_SUBMISSION}
    query = {"name": path.name} | {name: text for name, text in given.items() if text}
    place = f"/api/datasets/{quote(options.dataset, safe='')}/uploads?{urlencode(query)}"
    seen = board.ask("PUT", place, file=path, progress=progress)
    understood = seen["preview"].get("inspection") or {}
    problems = tuple(seen["preview"].get("problems") or ([seen["preview"]["refused"]] if not understood else []))
    link = f"{board.url}{seen['url']}"
    if problems or options.dry_run:
        return Receipt(link, "not handed in" if problems else "ready to hand in", problems, understood)
    seen = board.ask(
        "POST", f"/api/submissions/{seen['id']}/hand-in", {"program": options.program or "", "note": options.note}
    )
    while options.wait and seen["state"] in _WAITING:
        if progress is not None:
            progress(seen["state"], 0, 1)
        time.sleep(_POLL_S)
        seen = board.ask("GET", f"/api/submissions/{seen['id']}")
    answer = (seen[name] for name in ("queue", "sentence", "result", "place"))
    return Receipt(link, seen["state"], tuple(seen["wrong"]), understood, *answer)


def _text(value: Any) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={place}" for name, place in value.items())
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return str(int(value) if isinstance(value, bool) else value)


@dataclass(frozen=True)
class _Board:
    """The API of a board, with a token."""

    url: str
    token: str

    @classmethod
    def at(cls, url: str, token: str | None) -> _Board:
        parts = urlsplit(str(url))
        if parts.scheme not in ("http", "https") or parts.hostname is None or parts.path.strip("/") or parts.query:
            raise InputError(f"url is {str(url)!r:.100}; give the address of a board, as https://challenge.example.org")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise InputError("a token must not travel over http; give an address with https")
        token = token or os.environ.get(_TOKEN, "")
        if not token:
            raise InputError(f"there is no token; make one on your account's page and set {_TOKEN}")
        if not token.isascii() or not token.isprintable():
            raise InputError("token= has characters that no token has; copy it again")
        return cls(f"{parts.scheme}://{parts.netloc}", token)

    def ask(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        *,
        file: Path | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """The answer; an error with the sentence of the board if it refuses."""
        import http.client

        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=_PATIENCE_S)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        try:
            if file is not None:
                self._send(connection, path, headers, file, progress)
            else:
                body = None if content is None else json.dumps(content)
                more = {} if body is None else {"Content-Type": "application/json"}
                connection.request(method, path, body, headers | more)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"{self.url}: does not answer ({reason}); try again later") from error
        finally:
            connection.close()
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise InputError(f"{self.url}: is not a board of flatmetric (status {response.status})") from error
        if response.status >= 400:
            said = answer.get("error", "refused") if isinstance(answer, dict) else "refused"
            raise InputError(f"{self.url}: {printable(str(said))}")
        return answer

    def _send(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        headers: Mapping[str, str],
        file: Path,
        progress: Progress | None,
    ) -> None:
        """The file as it is; a board that refuses while it is sent is listened to."""
        size, sent = file.stat().st_size, 0
        connection.putrequest("PUT", path)
        for name, value in (headers | {"Content-Length": str(size)}).items():  # type: ignore[operator]
            connection.putheader(name, value)
        connection.endheaders()
        with file.open("rb") as content:
            while piece := content.read(_PIECE):
                try:
                    connection.send(piece)
                except (BrokenPipeError, ConnectionResetError):
                    return  # the answer says why
                sent += len(piece)
                if progress is not None:
                    progress(f"uploading {file.name}", sent, size)
