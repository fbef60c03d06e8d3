"""What every request goes through: who asks, whether they may, and errors as one sentence."""

from __future__ import annotations

import inspect
import json
import secrets
import traceback
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import jinja2
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError, printable
from flatmetric.options.serving import LOOPBACK
from flatmetric.server import show
from flatmetric.server.accounts import Passwords, Role, Visitor, visitor_of_session, visitor_of_token
from flatmetric.server.database import DeniedError
from flatmetric.server.web_board import WebBoard

Who = Literal["public", "team", "organiser"]
_SLOW = 20  # files that wait to be read, or are read, at once
_RANKS: dict[Role, int] = {"public": 0, "team": 1, "organiser": 2}
_LARGEST_FORM = 1 << 18  # bytes
_DIGITS = 9  # of a number in an address: the database has no larger ones
_SAFE = ("GET", "HEAD")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FAULT = "something went wrong on the server; the organisers can see what"


@dataclass(frozen=True, eq=False)
class Site:
    """A board as it is served: its address, and what pages are made with."""

    board: WebBoard
    url: str
    passwords: Passwords = field(default_factory=Passwords)
    templates: jinja2.Environment = field(default_factory=lambda: _templates())

    slow_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_SLOW))

    @property
    def is_secure(self) -> bool:
        """Whether the address is https."""
        return self.url.startswith("https://")

    @property
    def cookie(self) -> str:
        """The name of the cookie of sessions."""
        return "__Host-flatmetric" if self.is_secure else "flatmetric"

    @property
    def hosts(self) -> set[str]:
        """The hosts by which it may be addressed."""
        own = urlsplit(self.url)
        usual = {"http": 80, "https": 443}[own.scheme]  # which browsers leave out
        port = "" if own.port in (None, usual) else f":{own.port}"
        name = str(own.hostname)
        host = f"[{name}]" if ":" in name else name
        return {f"{host}{port}", *((f"localhost{port}", f"127.0.0.1{port}") if name in LOOPBACK else ())}


def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.globals["zip"] = zip
    return made


@dataclass(frozen=True, eq=False)
class Ask:
    """One request: where, by whom, and what was sent with it."""

    site: Site
    request: Request
    visitor: Visitor
    form: Mapping[str, str]

    @property
    def board(self) -> WebBoard:
        """The board that is asked about."""
        return self.site.board

    @property
    def number(self) -> int:
        """The number in the address."""
        text = str(self.request.path_params["number"])
        if not text.isdecimal() or len(text) > _DIGITS:
            raise DeniedError(404, "there is no such page")
        return int(text)

    def part(self, name: str) -> str:
        """A text in the address."""
        return str(self.request.path_params[name])

    def page(self, name: str, *, status: int = 200, **content: Any) -> Response:
        """A page from its template."""
        database = self.board.database
        with database.reading() as connection:
            rules = self.board.published(connection).rules
            content = {"rules": rules, "state": rules.state(database.now(connection)), **content}
        given = {"visitor": self.visitor, "show": show, "csrf": self._csrf, **content}
        return HTMLResponse(self.site.templates.get_template(f"{name}.html").render(given), status)

    def _csrf(self) -> Markup:
        """The field of a form that shows that it came from our page."""
        return Markup("<input type='hidden' name='csrf' value='{}'>").format(self.visitor.csrf)


Handler = Callable[[Ask], Any]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """An address of the board: who may ask for it, and what it does. `api` ones answer in JSON."""

    method: str
    path: str
    who: Who
    handler: Handler
    summary: str
    api: bool = False
    slow: bool = False  # it reads a file: pages don't wait for it
    body: Mapping[str, str] = field(default_factory=dict)

    async def answer(self, site: Site, request: Request) -> Response:
        """The response, whatever happens."""
        visitor = Visitor()
        try:
            if request.headers.get("host") not in site.hosts:
                raise DeniedError(400, "this board has another address")
            visitor = await run_in_threadpool(_visitor, site, request)
            if _RANKS[visitor.role] < _RANKS[self.who]:
                if visitor.role == "public" and not self.api and request.method in _SAFE:
                    return _finished(redirect(f"/login?next={request.url.path}"))
                wanted = "log in, or give a token" if visitor.role == "public" else "this is for organisers"
                raise DeniedError(401 if visitor.role == "public" else 403, wanted)
            if visitor.by == "token" and not self.api:
                raise DeniedError(403, "a token can't do this; log in")
            form = await _form(request)
            if request.method not in _SAFE:
                _check_intent(site, request, visitor, form)
            ask = Ask(site, request, visitor, form)
            if self.slow:
                response = await to_thread.run_sync(self.handler, ask, limiter=site.slow_threads)
            elif inspect.iscoroutinefunction(self.handler):
                response = await self.handler(ask)
            else:
                response = await run_in_threadpool(self.handler, ask)
        except ClientDisconnect:
            response = Response(status_code=400)  # the client is gone
        except DeniedError as fault:
            response = await run_in_threadpool(self._error, site, request, visitor, fault.status, str(fault))
        except InputError as error:
            response = await run_in_threadpool(self._error, site, request, visitor, 422, str(error))
        except Exception:
            traceback.print_exc()
            response = await run_in_threadpool(self._error, site, request, visitor, 500, _FAULT)
        return _finished(response)

    def _error(self, site: Site, request: Request, visitor: Visitor, status: int, sentence: str) -> Response:
        sentence = printable(sentence)
        if self.api:
            return JSONResponse({"error": sentence}, status)
        try:
            back = urlsplit(request.headers.get("referer", ""))
            path = back.path if back.netloc in site.hosts and request.method not in _SAFE else ""
            return Ask(site, request, visitor, {}).page("error", status=status, sentence=sentence, back=path)
        except DeniedError:  # the database is away: even the title is unknown
            page = site.templates.get_template("away.html").render(sentence=sentence)
            return HTMLResponse(page, status)


def _finished(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def redirect(path: str) -> Response:
    """Go on at another address of this board."""
    return RedirectResponse(path, 303)


def json_answer(content: Any, status: int = 200) -> Response:
    """A JSON response; NaN is an error."""
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _visitor(site: Site, request: Request) -> Visitor:
    database = site.board.database
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        with database.reading() as connection:
            visitor = visitor_of_token(connection, token.strip())
        if visitor.team is None:
            raise DeniedError(401, "the token is wrong or was revoked; make another on your account's page")
        return visitor
    secret = request.cookies.get(site.cookie)
    if not secret:
        return Visitor()
    with database.reading() as connection:
        return visitor_of_session(connection, database.now(connection), secret)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form or of a JSON object."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "POST":
        return {}
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_FORM:
            raise DeniedError(413, "this form is too large")
    if not body:
        return {}
    if kind not in ("application/x-www-form-urlencoded", "application/json"):
        raise DeniedError(415, "the request can't be read; send a form or a JSON object, and its Content-Type")
    try:
        if kind == "application/json":
            content = json.loads(body)
            if not isinstance(content, dict):
                raise ValueError("no object")
            form = {str(name): str(value) for name, value in content.items() if value is not None}
        else:
            pairs = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True)
            form = {name: values[-1] for name, values in pairs.items()}
        for value in form.values():
            value.encode()  # half a character is none
            if "\0" in value:
                raise ValueError("no text")
        return form
    except (ValueError, RecursionError) as error:
        raise DeniedError(400, "the request can't be read; send a form or a JSON object") from error


def _check_intent(site: Site, request: Request, visitor: Visitor, form: Mapping[str, str]) -> None:
    """Nothing is changed on behalf of another site: the origin must be ours, and a session has its secret with it."""
    if visitor.by == "token":
        return  # no browser adds a token by itself
    origin = request.headers.get("origin")
    known = {f"{'https' if site.is_secure else 'http'}://{host}" for host in site.hosts}
    if origin not in known:
        raise DeniedError(403, "this was sent from another site; open the page of the board and try again")
    if visitor.by == "session":
        given = request.headers.get("x-csrf") or form.get("csrf", "")
        if not secrets.compare_digest(given.encode(), visitor.csrf.encode()):
            raise DeniedError(403, "this page is from an earlier login; load it again")
