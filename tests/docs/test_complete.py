"""Nothing is left out of samples and docs: formats, findings, localizers, figures, public names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import flatmetric as fm
from flatmetric.formats.registry import FORMATS
from flatmetric.localizers.registry import METHODS
from flatmetric.quality.findings import FINDINGS
from tests.formats.samples import SAMPLES

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(fm.__file__).parent


def without_sample(formats: Iterable[str]) -> list[str]:
    """The formats that no sample in tests/formats/samples.py is written in."""
    return sorted(set(formats) - {sample.format for sample in SAMPLES})


def without_row(names: Iterable[str], page: str) -> list[str]:
    """The names that the first column of no table of a page has."""
    text = (ROOT / page).read_text(encoding="utf-8")
    columns = re.findall(r"^\|([^|]*)\|(?:([^|]*)\|)?", text, re.MULTILINE)
    listed = {name.strip(" `") for cells in columns for cell in cells for name in re.split(r"[,(]", cell)}
    return sorted(set(names) - listed)


def figures(package: Path) -> list[str]:
    """The functions of `plots` that draw into `Axes`, as module.function."""
    return [
        f"{path.stem}.{node.name}"
        for path in sorted((package / "plots").glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.args.args
        and ast.unparse(node.args.args[0].annotation or ast.Constant(None)) == "Axes"
    ]


def undocumented(names: Iterable[str]) -> list[str]:
    """The figures that docs/how-to/report.md or docs/reference/api.md lack."""
    how_to, reference = ((ROOT / "docs" / page).read_text() for page in ("how-to/report.md", "reference/api.md"))
    return [name for name in names if f"`{name}(" not in how_to or f"plots.{name}\n" not in reference]


def untested(names: Iterable[str]) -> list[str]:
    """The figures that no test draws."""
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "plots").glob("test_*.py")]
    return [name for name in names if not any(re.search(rf"\b{name.split('.')[1]}\(", text) for text in tests)]


def test_every_format_has_a_sample_and_a_row() -> None:
    names = [entry.name for entry in FORMATS]
    assert without_sample(names) == without_row(names, "docs/how-to/formats.md") == []


def test_every_finding_has_a_row() -> None:
    assert without_row(FINDINGS, "docs/how-to/check.md") == []


def test_every_localizer_is_listed_among_the_participants() -> None:
    assert without_row(METHODS, "docs/how-to/challenge.md") == []


def test_every_figure_is_documented_and_tested() -> None:
    assert figures(PACKAGE)
    assert undocumented(figures(PACKAGE)) == untested(figures(PACKAGE)) == []


def test_the_public_names_are_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8").split()
    assert [name for name in fm.__all__ if name not in reference and name != "__version__"] == []
