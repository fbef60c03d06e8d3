"""The recipes of CONTRIBUTING.md, followed in a copy of the package: what is added shows up everywhere it should."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flatmetric as fm
from flatmetric import _core
from tests.docs.test_complete import figures, undocumented, untested, without_row, without_sample

DATA = Path(fm.__file__).parent / "data"
TRUTH, PRED = str(DATA / "demo_truth.csv"), str(DATA / "demo_baseline.csv")

# Each recipe: new files, and in existing ones what is inserted before a line.
SUM_METRIC = {
    "metrics/jaccard_rmse.py": (
        "    fp: int = count(",
        """    mean_square: float | None = error(
        "mean square error",
        lambda s: (s.square_x + s.square_y) / s.tp,
        NO_MATCH,
        meaning="mean of squared distances in the plane",
        equation="mean of dx^2 + dy^2 over pairs",
        unit="nm2",
    )
""",
    ),
    "metrics/table.py": (
        '        "rmse_xy": "challenge.rmse_xy",',
        '        "mean_square": "challenge.mean_square",\n',
    ),
}
MEDIAN_METRIC = {
    "metrics/rmsmd.py": (
        "    whole_set: float | None",
        """    median_error: float | None = error(
        "median error",
        meaning="median distance of matched pairs",
        equation="median of the distances of matched pairs",
        measure=lambda rows: float(np.median(rows.matched.counted.distance)) if len(rows.matched.counted) else "empty",
    )
""",
    ),
    "metrics/table.py": (
        '        "recall": "challenge.recall",',
        '        "median_error": "rmsmd.median_error",\n',
    ),
}
OPTION = {
    "options/reading.py": (
        "    swap_xy: bool",
        '    mirror_x: float | None = option(None, "Mirror x of {file} at this position, nm.", metavar="NM")\n',
    ),
    "formats/read.py": (
        "        return to_localizations(native, options, provenance)",
        """        if options.mirror_x is not None:
            table = to_localizations(native, options, provenance)
            return dataclasses.replace(table, x=2 * options.mirror_x - table.x)
""",
    ),
}
FORMAT = {
    "formats/acme.py": (
        "",
        """from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="acme",
    title="Acme Scope",
    known_by=("acme_frame", "acme_x", "acme_y"),
    columns={"frame": ("acme_frame",), "x": ("acme_x",), "y": ("acme_y",)},
    unit="um",
    frame_base=0,
    first_pixel=0.5,
).format()
""",
    ),
    "formats/registry.py": ("    leica.FORMAT,", "    acme.FORMAT,\n"),
    "formats/registry.py ": ("    challenge_csv,\n", "    acme,\n"),
}
LOCALIZER = {
    "localizers/brightest.py": (
        "",
        '''import numpy as np

from flatmetric.localizers.base import Setting, image_by_image

SETTINGS = {"threshold": Setting(10.0, 0.0, 1e6, tuned=(1.0, 100.0))}


def localize(images, settings):
    """The brightest pixel of each image."""

    def find(image):
        y, x = np.unravel_index(image.argmax(), image.shape)
        bright = [image[y, x]] if image[y, x] >= settings["threshold"] else []
        return np.full(len(bright), float(x)), np.full(len(bright), float(y)), np.array(bright)

    return image_by_image(images, find)
''',
    ),
    "localizers/registry.py": (
        '    "trackpy": Method(',
        '    "brightest": Method(brightest.localize, brightest.SETTINGS),\n',
    ),
    "localizers/registry.py ": ("METHODS: dict[", "from flatmetric.localizers import brightest  # noqa: E402\n\n"),
}
FINDING = {
    "quality/findings.py": (
        '    "truncated": FindingType(',
        """    "constant_photons": FindingType(
        lambda photons: f"every row has {photons:g} photons", step="write the photons of each row", harmless=True
    ),
""",
    ),
    "quality/content.py": (
        "def repeated_frames(",
        '''def constant_photons(case: Case) -> Finding | None:
    """Photons that are the same in all rows."""
    photons = case.pred.photons
    if photons is None or len(photons) < 10 or np.ptp(photons) > 0:
        return None
    return Finding("constant_photons", float(photons[0]), None, None, 1.0)


''',
    ),
    "quality/checking.py": ("    (_name(content.duplicates), 1),", "    (_name(content.constant_photons), 1),\n"),
}
FIGURE = {
    "plots/photons.py": (
        "",
        '''from __future__ import annotations

from typing import TYPE_CHECKING

from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def photon_histogram(axes: Axes, score: Score) -> Axes:
    """How many photons the detections have."""
    axes.hist(score.matched.pred.photons, bins=20)
    axes.set_xlabel("photons")
    return axes
''',
    ),
}
RECIPES = {
    "sum metric": SUM_METRIC,
    "median": MEDIAN_METRIC,
    "option": OPTION,
    "format": FORMAT,
    "localizer": LOCALIZER,
    "finding": FINDING,
    "figure": FIGURE,
}


class Copy:
    """A copy of the package with all recipes followed, and Python that imports it instead of the installed one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package = folder, folder / "flatmetric"
        shutil.copytree(Path(fm.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__", "_core*"))
        shutil.copy(str(_core.__file__), self.package)
        for edits in RECIPES.values():
            for name, (before, text) in edits.items():
                self.insert(self.package / name.strip(), before, text)

    @staticmethod
    def insert(path: Path, before: str, text: str) -> None:
        content = path.read_text(encoding="utf-8") if before else ""
        assert content.count(before) == 1 or not before, f"{path.name} has {before!r} {content.count(before)} times"
        path.write_text(content.replace(before, text + before) if before else text, encoding="utf-8")

    def python(self, *words: str) -> str:
        """What Python prints; without `site`, so that an editable install doesn't come first."""
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(self.folder), *filter(None, sys.path)])}
        done = subprocess.run(
            [sys.executable, "-S", *words], capture_output=True, text=True, env=env, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def flatmetric(self, *words: str) -> str:
        return self.python("-m", "flatmetric", *words)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("recipes"))


def test_the_copy_is_what_is_imported(copy: Copy) -> None:
    assert str(copy.package) in copy.python("-c", "import flatmetric; print(flatmetric.__file__)")


@pytest.fixture(scope="module")
def outputs(copy: Copy) -> dict[str, str]:
    """Every output of a score and a leaderboard that a metric must appear in."""
    board = copy.folder / "challenge"
    (board / "A" / "results").mkdir(parents=True)
    shutil.copy(TRUTH, board / "A" / "truth.csv")
    shutil.copy(PRED, board / "A" / "results" / "mine.csv")
    page, table = copy.folder / "page.html", copy.folder / "values.csv"
    terminal = copy.flatmetric("score", TRUTH, PRED, "--report", str(page), "--csv", str(table))
    copy.flatmetric("leaderboard", str(board))
    made = "from flatmetric.metrics.table import *; import json; "
    made += "print(json.dumps([metrics_page(), json.dumps({part: family_schema(part) for part in FAMILIES})]))"
    reference, schema = json.loads(copy.python("-c", made))
    return {
        "terminal": terminal,
        "json": copy.flatmetric("score", TRUTH, PRED, "--json", "-"),
        "csv": table.read_text(encoding="utf-8"),
        "page": page.read_text(encoding="utf-8"),
        "leaderboard.csv": (board / "leaderboard" / "leaderboard.csv").read_text(encoding="utf-8"),
        "leaderboard.json": (board / "leaderboard" / "leaderboard.json").read_text(encoding="utf-8"),
        "reference": reference,
        "schema": schema,
    }


@pytest.mark.parametrize(
    ("part", "name", "title"),
    [("challenge", "mean_square", "mean square error"), ("rmsmd", "median_error", "median error")],
)
def test_a_metric_is_in_every_output(outputs: dict[str, str], part: str, name: str, title: str) -> None:
    value = json.loads(outputs["json"])[part][name]
    assert value > 0
    for where in ("terminal", "page", "reference"):
        assert title in outputs[where], where
    assert f"{title} {value:.2f} nm" in outputs["terminal"]
    for where in ("csv", "schema", "leaderboard.csv", "leaderboard.json"):
        assert name in outputs[where], where
    assert f"| `{part}.{name}` |" in outputs["reference"]


def test_the_metrics_are_right(outputs: dict[str, str]) -> None:
    content, score = json.loads(outputs["json"]), fm.score(TRUTH, PRED)
    assert score.challenge.rmse_xy is not None
    assert content["challenge"]["mean_square"] == pytest.approx(score.challenge.rmse_xy**2)
    distances = sorted(score.matched.counted.distance.tolist())
    middle = len(distances) // 2
    median = distances[middle] if len(distances) % 2 else (distances[middle - 1] + distances[middle]) / 2
    assert content["rmsmd"]["median_error"] == pytest.approx(median)


def test_an_option_is_a_keyword_a_flag_and_a_key(copy: Copy) -> None:
    assert "--mirror-x NM" in (shown := copy.flatmetric("score", "--help-all")) and "--truth-mirror-x" in shown
    code = f"import flatmetric as fm; print(fm.read({PRED!r}, mirror_x=3200).x[0] + fm.read({PRED!r}).x[0])"
    assert float(copy.python("-c", code)) == pytest.approx(6400)
    assert "    mirror_x\n" in copy.python("-c", "import flatmetric as fm; print(fm.score.__doc__)")
    plain = json.loads(copy.flatmetric("score", TRUTH, PRED, "--json", "-", "--no-check"))["flat_metric"]["value"]
    by_flag = copy.flatmetric("score", TRUTH, PRED, "--mirror-x", "3200", "--json", "-", "--no-check")
    folder = copy.folder / "own"
    folder.mkdir()
    for name in ("a", "b"):
        shutil.copy(PRED, folder / f"{name}.csv")
    (folder / "submissions.toml").write_text('["b.csv"]\nmirror_x = 3200.0\n')
    files = [str(folder / name) for name in ("a.csv", "b.csv")]
    compared = json.loads(copy.flatmetric("compare", TRUTH, *files, "--json", "-", "--no-check"))
    values = {entry["name"]: entry["flat_metric"]["value"] for entry in compared["entries"]}
    assert values["a"] == plain < values["b"] == json.loads(by_flag)["flat_metric"]["value"]


def test_a_format_is_recognised_and_asks_for_a_sample_and_a_row(copy: Copy) -> None:
    path = copy.folder / "acme.csv"
    path.write_text("acme_frame,acme_x,acme_y\n0,1.5,2.5\n1,1.25,3.5\n")
    assert "acme: " in (shown := copy.flatmetric("inspect", str(path))) and "1250.0 to 1500.0 nm" in shown
    names = copy.python("-c", "from flatmetric.formats.registry import *; print(*(f.name for f in FORMATS))").split()
    assert without_sample(names) == without_row(names, "docs/how-to/formats.md") == ["acme"]


def test_a_localizer_runs_and_takes_part(copy: Copy) -> None:
    stack, out = str(DATA / "demo_stack.ome.tif"), copy.folder / "brightest.csv"
    copy.flatmetric("localize", stack, "--method", "brightest", "--set", "threshold=50", "--out", str(out))
    assert len(out.read_text().splitlines()) > 10
    names = copy.python("-c", "from flatmetric.challenges.runner import taking_part; print(*taking_part([], []))")
    assert "brightest" in names.split()
    assert without_row(["brightest"], "docs/how-to/challenge.md") == ["brightest"]


def test_a_finding_is_reported_everywhere(copy: Copy) -> None:
    path, page = copy.folder / "constant.csv", copy.folder / "constant.html"
    fm.convert(PRED, path)
    rows = path.read_text(encoding="utf-8").splitlines()
    place = rows[0].split(",").index('"intensity [photon]"')
    cells = [row.split(",") for row in rows[1:]]
    path.write_text("\n".join([rows[0], *(",".join([*row[:place], "800", *row[place + 1 :]]) for row in cells)]) + "\n")
    words = "every row has 800 photons"
    assert f"{words}: write the photons of each row" in copy.flatmetric("check", TRUTH, str(path))
    found = json.loads(copy.flatmetric("check", TRUTH, str(path), "--json", "-"))["findings"]
    assert ("constant_photons", words) in [(one["kind"], one["what"]) for one in found]
    copy.flatmetric("score", TRUTH, str(path), "--report", str(page))
    assert words in page.read_text(encoding="utf-8")
    assert without_row(["constant_photons"], "docs/how-to/check.md") == ["constant_photons"]


def test_a_figure_draws_and_asks_for_docs_and_a_test(copy: Copy) -> None:
    code = "import flatmetric as fm; from flatmetric.plots.style import new_figure; "
    code += "from flatmetric.plots.photons import photon_histogram; "
    code += f"print(photon_histogram(new_figure(4, 3).subplots(), fm.score({TRUTH!r}, {PRED!r})).get_xlabel())"
    assert copy.python("-c", code).strip() == "photons"
    names = figures(copy.package)
    assert undocumented(names) == untested(names) == ["photons.photon_histogram"]
