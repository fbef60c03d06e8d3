"""What holds for the package as a whole: layers, import time, its version."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flatmetric
from examples.make_stub import STUB, stub
from flatmetric._dataclass import dataclass
from flatmetric.cli.app import COMMANDS
from flatmetric.localizations import Provenance

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "flatmetric"

# Imports go down only: a room may import from itself and from the rooms on the floors before its own.
FLOORS = [
    ("version", "errors", "_core", "_dataclass", "_display"),
    ("_arrays", "_escaping"),
    ("_files", "_validation"),
    ("options", "execution"),
    ("transport", "localizations", "movies"),
    ("stacks",),
    ("formats", "matching"),
    ("metrics", "simulation", "quality"),
    ("scoring", "localizers"),
    ("statistics", "torch"),
    ("sentences",),
    ("challenges",),
    ("twins",),
    ("plots",),
    ("paper",),
    ("reports",),
    ("api",),
    ("",),  # the package's front
    ("server",),
    ("cli",),
    ("__main__",),
]
ROOM_FLOORS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
CORE_ROOMS = ["support", "geometry", "transport", "frames", "text", "spots"]


def room_of(module: str) -> str:
    name = module.removeprefix("flatmetric").lstrip(".").split(".")[0]
    assert name in ROOM_FLOORS, f"{module} has no room yet: decide where it belongs"
    return name


def nodes_for_types(tree: ast.Module) -> set[int]:
    """What stands under `if TYPE_CHECKING:`."""
    conditions = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    guarded = [node for node in conditions if getattr(node.test, "id", "") == "TYPE_CHECKING"]
    return {id(inner) for node in guarded for inner in ast.walk(node)}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, with_types: bool = True) -> set[str]:
    """The modules of the package that a file imports, also by `import_module`, and for types alone if asked for."""
    found, tree = set(), ast.parse(path.read_text(encoding="utf-8"))
    left_out = set() if with_types else nodes_for_types(tree)
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                submodule = PACKAGE.parent / Path(*node.module.split(".")) / alias.name
                is_module = submodule.is_dir() or submodule.with_suffix(".py").exists()
                is_core = (node.module, alias.name) == ("flatmetric", "_core")
                found.add(f"{node.module}.{alias.name}" if is_module or is_core else node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            named = node.args[0]
            if isinstance(named, ast.Constant):
                found.add(str(named.value))
            else:  # a name that is put together: only the front and the command line load their parts like that
                assert room_of(module_name(path)) in ("", "cli"), f"{path} loads a module whose name can't be seen"
    return {name for name in found if name.split(".")[0] == "flatmetric"}


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_imports_go_down_only(path: Path) -> None:
    mine = module_name(path)
    for other in imported_modules(path):
        same_room = room_of(other) == room_of(mine)
        down = ROOM_FLOORS[room_of(other)] < ROOM_FLOORS[room_of(mine)]
        assert same_room or down, f"{mine} imports {other}"


def test_there_is_no_circle_of_imports() -> None:
    """Not even within a room: modules can be read one after the other."""
    names = {module_name(path) for path in MODULES}
    imports = {module_name(path): imported_modules(path, with_types=False) & names for path in MODULES}
    for name, others in imports.items():
        others.discard(name)
    while imports:
        leaves = {name for name, others in imports.items() if not others & set(imports)}
        assert leaves, f"a circle among {', '.join(sorted(imports))}"
        imports = {name: others for name, others in imports.items() if name not in leaves}


def test_nothing_imports_the_front_of_the_package() -> None:
    for path in MODULES:
        if path.name != "__main__.py":
            assert "flatmetric" not in imported_modules(path), f"{path} imports the package's front"


def test_a_class_and_a_module_have_a_name_of_their_own() -> None:
    classes: dict[str, str] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert node.name not in classes, f"{node.name} is in {path} and in {classes[node.name]}"
                classes[node.name] = str(path)
    public = set(flatmetric.__all__)
    assert not public & {path.stem for path in PACKAGE.iterdir()}, "a public name is also a module or a folder"


COMMAND_MODULES = [PACKAGE / "cli" / f"{name}.py" for name in COMMANDS if name != "completion"]


@pytest.mark.parametrize("path", COMMAND_MODULES, ids=lambda path: path.stem)
def test_a_command_calls_one_public_function(path: Path) -> None:
    """Parse, call, print: what a command does is in the library, where a notebook finds it too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    of_types = nodes_for_types(tree)
    called = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in of_types and str(node.module).startswith("flatmetric"):
            room = room_of(str(node.module))
            if room in ("api", "server"):
                called += [alias.name for alias in node.names if alias.name.islower()]
            else:
                allowed = ("cli", "errors", "options", "execution", "version", "_dataclass", "_files")
                assert room in allowed, f"{path.name} imports {node.module}: is there a public function for that?"
    of_server = {"serve", "work"}  # they need an extra, so that they are not in the package's front
    assert 1 <= len(called) <= 2 and set(called) <= {*flatmetric.__all__, *of_server}, called


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


def test_the_stub_has_every_keyword_of_every_function() -> None:
    """If this fails, run python -m examples.make_stub."""
    assert STUB.read_text(encoding="utf-8") == stub()


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


def rooms_of_the_map() -> dict[str, str]:
    """What the map in CONTRIBUTING.md says of each folder, by its path."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.split("## The house", 1)[1].split("```")[1]
    rooms, path = dict[str, str](), list[str]()
    for line in block.strip("\n").splitlines():
        entry = re.match(r"( *)([\w/]+)/ ", line)
        if entry and len(entry[1]) < 10:
            path = [*path[: len(entry[1]) // 2], entry[2]]
            line = line[entry.end() :]
        rooms["/".join(path)] = rooms.get("/".join(path), "") + line
    return rooms


def test_the_map_is_that_of_the_tree() -> None:
    rooms = rooms_of_the_map()
    inner = [*PACKAGE.rglob("*.py"), *(ROOT / "core").rglob("*.?pp")]
    folders = {path.parent.relative_to(ROOT).as_posix() for path in inner}
    beside = {"tests", "proofs", "benchmarks", "docs", "examples"}
    assert set(rooms) == folders | beside
    for path in PACKAGE.rglob("*.py"):
        described = rooms[path.parent.relative_to(ROOT).as_posix()]
        listed = re.search(rf"(?<!\w){path.stem}(?!\w)", described) is not None
        one_of_many = re.search(r"one module for each (format|program|command)", " ".join(described.split()))
        assert listed or one_of_many or path.stem == "__init__", f"the map lacks {path.relative_to(PACKAGE)}"


def numbers_without_reason(text: str) -> list[str]:
    """Constants of a module that are numbers, without a comment or a docstring that gives their reason."""
    body, lines = ast.parse(text).body, text.splitlines()
    names = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
        parts = list(ast.walk(node.value))
        values = [part.value for part in parts if isinstance(part, ast.Constant)]
        plain = all(isinstance(part, kinds) for part in parts) and all(type(one) in (int, float) for one in values)
        described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        comment = "#" in lines[(node.end_lineno or 1) - 1] or lines[node.lineno - 2].startswith("#")
        if plain and values and not described and not comment:
            names.append(node.targets[0].id)
    return names


def test_every_number_has_its_reason() -> None:
    assert numbers_without_reason('"""A module."""\n\n_LIMIT = 3\n_BYTES = 1 << 20  # a megabyte\n') == ["_LIMIT"]
    for path in PACKAGE.rglob("*.py"):
        assert numbers_without_reason(path.read_text(encoding="utf-8")) == [], path


def test_our_dataclasses_are_those_of_the_standard_library() -> None:
    for slots in (False, True):
        spots: list[Any] = [
            make(frozen=True, slots=slots)(type("Spot", (), {"__annotations__": {"x": "int", "y": "int"}, "y": 2}))
            for make in (dataclass, dataclasses.dataclass)
        ]
        ours, theirs = spots
        one = ours(1)
        assert repr(one) == repr(theirs(1)) and hash(one) == hash(theirs(1))
        assert one == ours(1) and one != ours(1, 3) and one != theirs(1)
        assert dataclasses.replace(one, x=5) == ours(5) and dataclasses.asdict(one) == {"x": 1, "y": 2}
        assert copy.copy(one) == copy.deepcopy(one) == one
        for name in ("x", "y", "z"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(one, name, 3)
            with pytest.raises(dataclasses.FrozenInstanceError):
                delattr(one, name)
        with pytest.raises(TypeError):
            ours()
    provenance = Provenance(file="a.csv")
    assert pickle.loads(pickle.dumps(provenance)) == provenance
