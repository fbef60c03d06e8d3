"""What holds for the package as a whole: layers, import time, its version."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "flatmetric"

# Imports go down only: a room may import from itself and from the rooms before it.
GROUND_FLOOR = {
    "version",
    "errors",
    "_core",
    "_arrays",
    "_escaping",
    "_progress",
    "_files",
    "_shown",
    "_validation",
    "_work",
    "_cluster",
}
ROOMS = [
    *("transport", "localizations", "stacks", "formats", "matching", "metrics", "quality", "scoring", "statistics"),
    *("sentences", "simulation", "localizers", "challenge", "plots", "pages", "paper", "page_folder"),
    *("views", "challenge_report", "api", "torch", "", "cli", "__main__"),
]
CORE_ROOMS = ["support", "geometry", "transport", "frames", "text", "spots"]


def room(module: str) -> int:
    name = module.removeprefix("flatmetric").lstrip(".").split(".")[0]
    if name in GROUND_FLOOR:
        return -1
    assert name in ROOMS, f"{module} has no room yet: decide where it belongs"
    return ROOMS.index(name)


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                submodule = PACKAGE.parent / Path(*node.module.split(".")) / alias.name
                is_module = submodule.is_dir() or submodule.with_suffix(".py").exists()
                is_core = (node.module, alias.name) == ("flatmetric", "_core")
                found.add(f"{node.module}.{alias.name}" if is_module or is_core else node.module)
    return {name for name in found if name.split(".")[0] == "flatmetric"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_imports_go_down_only(path: Path) -> None:
    mine = module_name(path)
    for other in imported_modules(path):
        assert room(other) <= room(mine), f"{mine} imports {other}"


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.[ch]pp")), ids=lambda path: path.name)
def test_only_the_binding_knows_python_and_the_core_includes_downwards(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert (path.name == "binding.cpp") == bool(re.search(r"nanobind|\bPy[A-Z_]", text))
    mine = path.relative_to(ROOT / "core").parts[0]
    if mine in CORE_ROOMS:
        for other in re.findall(r'#include "(\w+)/', text):
            assert CORE_ROOMS.index(other) <= CORE_ROOMS.index(mine), f"{path.name} includes {other}"


def test_only_the_command_line_prints_and_speaks_of_flags() -> None:
    for path in PACKAGE.rglob("*.py"):
        if "cli" in path.relative_to(PACKAGE).parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        flags = [text for text in texts if re.search(r"(?<![\w-])--[a-z]", text) and "{out}" not in texts]
        assert not flags, f"{path.name} names flags: {flags}"
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not any(isinstance(call, ast.Name) and call.id == "print" for call in calls), path.name


def test_import_brings_no_heavy_library() -> None:
    script = "import sys; from flatmetric import *; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "pandas", "matplotlib", "h5py", "click"} & set(modules)


def test_names_are_loaded_when_asked_for() -> None:
    script = (
        "import sys, flatmetric as fm; assert 'numpy' not in sys.modules; assert set(fm.__all__) <= set(dir(fm)); "
        "fm.score, fm.Protocol, fm.read; assert 'numpy' in sys.modules; fm.zebra"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert out.stderr.strip().endswith("AttributeError: module 'flatmetric' has no attribute 'zebra'")
