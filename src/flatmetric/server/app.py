"""All addresses of a board as one application; static files; the description of its API."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from flatmetric.server import organiser_pages, public_pages, team_pages
from flatmetric.server.asking import Ask, Endpoint, Site, json_answer
from flatmetric.server.database import DeniedError
from flatmetric.version import __version__

_STATIC = {
    "page.css": ("text/css", [("flatmetric.reports", "page.css"), ("flatmetric.server", "board.css")]),
    "icon.svg": ("image/svg+xml", [("flatmetric.server", "icon.svg")]),
    "htmx.js": ("text/javascript", [("flatmetric.server", "htmx.min.js")]),
    "board.js": (
        "text/javascript",
        [("flatmetric.reports", "base.js"), ("flatmetric.reports", "tables.js"), ("flatmetric.server", "board.js")],
    ),
}


def _openapi(ask: Ask) -> Response:
    return json_answer(openapi())


def openapi() -> dict[str, Any]:
    """The description of the API (OpenAPI 3.1), made from the table of addresses.

    Examples
    --------
    >>> sorted(openapi()["paths"])[0]
    '/api/board'
    """
    paths: dict[str, Any] = {}
    for one in ENDPOINTS:
        if not one.api:
            continue
        path = one.path
        parts = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        kinds = {"number": "integer"}
        given = [
            {"name": name, "in": "path", "required": True, "schema": {"type": kinds.get(name, "string")}}
            for name in parts
        ]
        described: dict[str, Any] = {"summary": one.summary, "parameters": given, "responses": _RESPONSES}
        text = {"type": "string"}
        if one.method == "PUT":
            given += [{"name": n, "in": "query", "description": d, "schema": text} for n, d in one.body.items()]
            described["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
        elif one.body:
            fields = {name: {"type": "string", "description": about} for name, about in one.body.items()}
            content = {"application/json": {"schema": {"type": "object", "properties": fields}}}
            described["requestBody"] = {"content": content}
        if one.who != "public":
            described["security"] = [{"token": []}]
        paths.setdefault(path, {})[one.method.lower()] = described
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    info = {"title": "flatmetric board", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"securitySchemes": schemes}}


_RESPONSES = {
    "200": {"description": "Done; JSON. A new upload answers 201, and one that was handed in 202."},
    "4XX": {"description": 'Refused; JSON with one sentence, {"error": "..."}.'},
    "5XX": {"description": "The server can't, for now; JSON with one sentence."},
}

ENDPOINTS = [
    *public_pages.ENDPOINTS,
    *team_pages.ENDPOINTS,
    *organiser_pages.ENDPOINTS,
    Endpoint("GET", "/api/openapi.json", "public", _openapi, "This description", api=True),
]
"""Every address of a board, with who may ask for it."""


def application(site: Site) -> Starlette:
    """The ASGI application of a board."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for one in ENDPOINTS:
        by_path.setdefault(one.path, {})[one.method] = one
    routes: list[BaseRoute] = [Route(path, _route(site, those), methods=list(those)) for path, those in by_path.items()]
    nowhere = _route(site, {"GET": Endpoint("GET", "/", "public", _nowhere, "Nothing")})
    nowhere_in_api = _route(site, {"GET": Endpoint("GET", "/api", "public", _nowhere, "Nothing", api=True)})
    routes += [Route("/static/{name}", _static, methods=["GET"])]
    routes += [
        Route("/api/{rest:path}", nowhere_in_api, methods=["GET"]),
        Route("/{rest:path}", nowhere, methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={405: _not_so})


def _nowhere(_: Ask) -> Response:
    raise DeniedError(404, "there is no such page")


async def _not_so(request: Request, _: Exception) -> Response:
    sentence = f"this address takes no {request.method}"
    if request.url.path.startswith("/api/"):
        return json_answer({"error": sentence}, 405)
    return PlainTextResponse(sentence, 405)


def _route(site: Site, those: dict[str, Endpoint]) -> Any:
    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await those[method].answer(site, request)

    return answer


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return Response("there is no such file", 404)
    headers = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
    return Response(_content(name), media_type=_STATIC[name][0], headers=headers)


@cache
def _content(name: str) -> str:
    kind, parts = _STATIC[name]
    texts = [(resources.files(package) / "assets" / part).read_text(encoding="utf-8") for package, part in parts]
    whole = "\n".join(texts)
    return whole if len(parts) == 1 or kind == "text/css" else f"'use strict';\n(async () => {{\n{whole}\n}})();\n"
