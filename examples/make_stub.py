"""Makes src/flatmetric/__init__.pyi: the public names with all their keywords, for editors and type checkers.

Run from the repository: python -m examples.make_stub
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import flatmetric
from flatmetric.options.base import REQUIRED, keywords_of

STUB = Path(flatmetric.__file__).with_suffix(".pyi")
_HEADER = """# Made by `python -m examples.make_stub` from the options of the functions; don't edit.
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

from flatmetric.api.types import Source
from flatmetric.execution.progress import Progress
from flatmetric.options.rules import Wobble
"""


def stub() -> str:
    """The text of the stub."""
    imports: dict[str, set[str]] = {}
    functions = []
    for module, names in flatmetric._MODULES.items():
        for name in names:
            value = getattr(import_module(f"flatmetric.{module}"), name)
            if inspect.isfunction(value) and hasattr(value, "options"):
                functions.append(_function(value, imports))
            else:
                imports.setdefault(f"flatmetric.{module}", set()).add(f"{name} as {name}")
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return "\n".join(
        [
            _HEADER,
            *lines,
            "",
            "__version__: str",
            "__all__: list[str]",
            "_MODULES: dict[str, tuple[str, ...]]",
            "",
            *functions,
        ]
    )


def _function(function: Any, imports: dict[str, set[str]]) -> str:
    """The signature of a function with its keywords; what it returns is imported."""
    signature = inspect.signature(inspect.unwrap(function))
    returned = str(signature.return_annotation)
    inner = returned.removeprefix("list[").removesuffix("]")
    module = _module_of(inner, function)
    public = f"{inner} as {inner}" if inner in flatmetric.__all__ else inner
    imports.setdefault(module, set()).add(public)
    positional = [
        f"{p.name}: {p.annotation}"
        for p in signature.parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "options"
    ]
    keywords = [
        f"{p.name}: {p.annotation} = None"
        for p in signature.parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name != "options"
    ]
    for keyword in keywords_of(function.options).values():
        default = "" if keyword.default is REQUIRED else " = ..."
        keywords.append(f"{keyword.name}: {keyword.type}{default}")
    rest = [f"*{p.name}: {p.annotation}" for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    lines = "".join(f"    {part},\n" for part in [*positional, *(rest or ["*"]), *keywords])
    return f"def {function.__name__}(\n{lines}) -> {returned}: ..."


def _module_of(name: str, function: Any) -> str:
    """The module that a name in the annotations of a function comes from."""
    own = import_module(function.__module__)
    if hasattr(own, name):
        return str(getattr(own, name).__module__)
    source = inspect.getsource(own)
    return next(match[1] for match in re.finditer(r"from ([\w.]+) import (.*)", source) if name in match[2].split(", "))


def main() -> None:
    """Write the stub."""
    STUB.write_text(stub(), encoding="utf-8")


if __name__ == "__main__":
    main()
