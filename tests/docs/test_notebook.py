"""The snippets of the documentation, run in a notebook: results show themselves, figures are pictures."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, WITH_PYTHON, name

# What a snippet prints tells what a notebook must show instead.
SHOWN = {
    "<Figure ": "image/png",
    "Score(": "text/html",
    "Comparison(": "text/html",
    "Leaderboard(": "text/html",
    "<Localizations": "text/html",
    "<Findings": "text/html",
}

nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning"),
    pytest.mark.more,
]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_snippets_show_their_pictures(page: Path) -> None:
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    cells = [nbformat.v4.new_code_cell(example.source) for example in examples]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    looked = 0
    for example, cell in zip(examples, notebook.cells, strict=True):
        for start, kind in SHOWN.items():
            if example.want.startswith(start):
                shown = [output["data"] for output in cell["outputs"] if output["output_type"] == "execute_result"]
                assert shown and kind in shown[0], example.source
                looked += 1
    assert looked > 0, "no snippet of this page shows anything"


SHIFTED = """
import flatmetric as fm
data = "src/flatmetric/data/demo_"
shifted = fm.read(data + "baseline.csv").to_pandas()
shifted["x"] += 200
"""
CELLS = [
    SHIFTED,
    'fm.score(data + "truth.csv", shifted)',
    'fm.compare(data + "truth.csv", {"a": shifted, "b": data + "baseline.csv"})',
    'fm.check(data + "truth.csv", shifted)',
]


def test_a_notebook_shows_a_finding_once_in_a_cell() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells[1:]:
        texts = [output.get("text") or output["data"]["text/html"] for output in cell["outputs"]]
        assert sum(text.count("shifted by x") for text in texts) == 1, cell["source"]
        assert any("<div" in text for text in texts)
