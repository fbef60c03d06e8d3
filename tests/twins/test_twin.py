"""From a movie to an answer, on the command line and in Python."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.errors import InputError
from flatmetric.plots.twins import estimates_plots, likeness_plots, side_by_side
from flatmetric.twins.own_result import own_result
from flatmetric.twins.ranking import Contender, choice
from proofs.foreign import movie, scope
from tests.reports.browser import cut_off, emulate, only_the_file, start, violations
from tests.scenes import run

SCOPE = dataclasses.replace(scope(3), frames=60)
PHOTONS = 1 / SCOPE.counts_per_electron
KNOWN = ("--pixel-size", f"{SCOPE.pixel}", "--offset", f"{SCOPE.offset}", "--photons-per-count", f"{PHOTONS}")
QUICK = (
    "--camera",
    "cmos",
    "--participant",
    "dog",
    "--participant",
    "log",
    "--twins",
    "3",
    "--tune",
    "3",
    "--jobs",
    "2",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A movie, its truth, a result, and what `twin` made of them."""
    place = tmp_path_factory.mktemp("twin")
    path, truth = movie(SCOPE, place)
    mine = fm.localize(
        path,
        method="daofind",
        pixel_size=SCOPE.pixel,
        offset=SCOPE.offset,
        photons_per_count=1 / SCOPE.counts_per_electron,
    )
    mine.to_pandas().to_csv(place / "mine.csv", index=False)
    np.savez(place / "truth.npz", **truth)
    out = run("twin", path, *KNOWN, *QUICK, "--result", place / "mine.csv", "--out", place / "out")
    assert out.returncode == 0, out.stderr
    (place / "printed.txt").write_text(out.stdout)
    return place


def test_the_answer_comes_first_and_everything_is_written(folder: Path) -> None:
    printed = (folder / "printed.txt").read_text().splitlines()
    assert ": expect a Flat Metric of" in printed[0] and "first on" in printed[0]
    content = json.loads((folder / "out" / "twin.json").read_text())
    assert content["answer"] == printed[: len(content["answer"])]
    assert (
        content["own_result"]["interval"][0]
        <= content["own_result"]["expected"]
        <= content["own_result"]["interval"][1]
    )
    assert {one["program"].removesuffix("-tuned") for one in content["programs"]} == {"dog", "log"}
    assert len(content["likeness"]) >= 12 and content["verdict"] in ("alike", "doubtful")
    page = (folder / "out" / "twin.html").read_text()
    assert page.index("expect a Flat Metric") < page.index("<figure") < page.index("All programs, best first")
    assert "NaN" not in json.dumps(content)


def test_the_page_holds_on_a_phone_and_on_a_screen(folder: Path) -> None:
    browser, page = start(folder), folder / "out" / "twin.html"
    try:
        for width, scheme in ((360, "dark"), (1280, "light")):
            emulate(browser, width, scheme)
            browser.open(page)
            assert browser.script("return document.documentElement.scrollWidth") <= width
            assert cut_off(browser) == violations(browser) == browser.complaints() == []
            assert only_the_file(browser, page)
            browser.picture(f"twin-{width}-{scheme}")
    finally:
        browser.driver.quit()


def test_the_winner_ran_on_the_movie_and_is_as_good_as_said(folder: Path) -> None:
    content = json.loads((folder / "out" / "twin.json").read_text())
    with np.load(folder / "truth.npz") as held:
        truth = {name: held[name] for name in ("frame", "x", "y")}
    reached = fm.score(truth, folder / "out" / "localizations.csv", check=False).value
    assert reached == pytest.approx(content["programs"][0]["expected_nm"], rel=0.25)
    own = fm.score(truth, folder / "mine.csv", check=False).value
    assert own == pytest.approx(content["own_result"]["expected"], rel=0.4)


def test_a_second_run_does_nothing_again(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "out" / "twins").rglob("*.csv")}
    measured = (folder / "out" / "measured.npz").stat().st_mtime_ns
    out = run("twin", folder / "movie.tif", *KNOWN, *QUICK, "--result", folder / "mine.csv", "--out", folder / "out")
    assert out.stdout == (folder / "printed.txt").read_text()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (folder / "out" / "measured.npz").stat().st_mtime_ns == measured


def test_a_program_of_ones_own_can_win(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys, flatmetric as fm\n"
        f"fm.localize(sys.argv[1], method='log', pixel_size={SCOPE.pixel}, offset={SCOPE.offset}, "
        f"photons_per_count={PHOTONS}, out=sys.argv[2])\n"
    )
    shutil.copy(folder / "out" / "measured.npz", tmp_path)
    words = ("--camera", "cmos", "--participant", "dog", "--twins", "1", "--tune", "0", "--out", tmp_path)
    out = run(
        "twin", folder / "movie.tif", *KNOWN, *words, "--program", f"mine={sys.executable} {script} {{stack}} {{out}}"
    )
    assert out.returncode == 0, out.stderr
    content = json.loads((tmp_path / "twin.json").read_text())
    assert {one["program"] for one in content["programs"]} == {"dog", "mine"} and not content["failures"]
    assert (tmp_path / "localizations.csv").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--camera", "film"), "--camera is 'film'; give emccd or cmos"),
        (("--twins", "0"), "--twins is 0; give a whole number from 1 to 100"),
        (("--beads", "b.tif"), "give --beads and --bead-step"),
        (("--participant", "nobody"), "method is 'nobody'"),
        (("--result", "none.csv"), "none.csv: there is no such file"),
    ],
)
def test_wrong_words_are_one_sentence(folder: Path, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    out = run("twin", folder / "movie.tif", *KNOWN, "--out", tmp_path / "out", *words)
    assert out.returncode == 2 and sentence in out.stderr and out.stderr.count("\n") == 1, out.stderr


def test_programs_that_are_level_are_a_tie() -> None:
    first, second = (
        Contender("a", None, None, (40.0, 50.0, 45.0), 0.8, 0.9),
        Contender("b", None, None, (41.0, 49.0, 46.0), 0.8, 0.9),
    )
    assert choice([first, second]).ties == ["b"]
    alone = choice([Contender("a", None, None, (40.0,), 0.8, 0.9), Contender("b", None, None, (80.0,), 0.8, 0.9)])
    assert alone.ties == ["b"], "one twin has no spread"


def test_figures_of_a_twin(folder: Path) -> None:
    from flatmetric.localizers.registry import StackCamera
    from flatmetric.stacks import open_stack
    from flatmetric.twins.likeness import likeness, statistics_of
    from flatmetric.twins.memory import recalled

    with np.load(folder / "out" / "measured.npz") as kept:
        key = str(kept["key"])
    camera = StackCamera(SCOPE.pixel, SCOPE.offset, 1 / SCOPE.counts_per_electron)
    made = recalled(folder / "out" / "measured.npz", key, open_stack(folder / "movie.tif"), camera)
    assert made is not None
    known, seen = made
    rows = likeness(statistics_of(seen), [statistics_of(seen), statistics_of(seen)])
    assert len(likeness_plots(rows).axes) == len(rows)
    assert [axes.get_title() for axes in side_by_side(seen, seen).axes][:2] == ["movie, one frame", "twin, one frame"]
    assert {"background", "brightness", "over time", "spot"} <= {
        a.get_title() for a in estimates_plots(known, seen, seen).axes
    }


@pytest.mark.more
def test_a_movie_in_depth_is_matched_by_its_beads(tmp_path: Path) -> None:
    made = fm.simulate(dataset="MT4.N2.HD", modality="AS", out=tmp_path / "made", frames=24)
    beads = bead_stack(tmp_path / "beads.tif")
    shutil.copy(made.stack, tmp_path / "movie.tif")
    options: dict[str, Any] = {"offset": 100.0, "photons_per_count": 1 / 6, "kind": "emccd", "twins": 1, "tune": 0}
    found = fm.twin(
        tmp_path / "movie.tif",
        out=tmp_path / "out",
        participants=["baseline"],
        beads=beads,
        bead_step=100.0,
        **options,
    )
    assert found.choice is None or found.choice.best.expected > 0
    depths = fm.read(tmp_path / "out" / "twins" / "twin-1" / "activations.csv").z
    assert depths is not None and np.std(depths) > 100
    other = bead_stack(tmp_path / "helix.tif", "DH")
    with pytest.raises(InputError, match="its beads don't look like the spots of"):
        fm.twin(tmp_path / "movie.tif", out=tmp_path / "o", beads=other, bead_step=100.0, **options)


def bead_stack(path: Path, modality: str = "AS") -> Path:
    import tifffile

    from flatmetric.simulation.datasets import pupil_of
    from flatmetric.simulation.optics import spots

    random = np.random.default_rng(0)
    places = np.array([[3030.0, 3170.0], [8980.0, 9060.0]])
    images = []
    for z in np.arange(-700.0, 701, 100):
        xyz = np.column_stack([places, np.full(2, z)])
        images.append(
            random.poisson(10 + spots(xyz, np.full(2, 40_000.0), pupil_of(modality), pixels=120, pixel_size=100.0))
        )
    tifffile.imwrite(path, np.stack(images).astype(np.uint16), photometric="minisblack")
    return path


def test_what_a_distance_tells_of_a_result() -> None:
    best = Contender("a", "a", {}, (13.0, 14.0, 13.5), 0.8, 0.9)
    others = [
        Contender(name, name, {}, (14.0 + far, 15.0 + far, 14.5 + far), 0.8, 0.9) for name, far in (("b", 9), ("c", 20))
    ]
    distances = {"b": (20.0, 20.0, 21.0), "c": (30.0, 31.0, 30.0)}
    for distance, values in ((13.5, (0.0, 20.0)), (25.0, (20.0, 30.0)), (200.0, (187.0, 213.0))):
        found = own_result(distance, best, others, distances)
        assert found is not None
        low, high = found.interval
        assert low <= values[0] and values[1] <= high + 0.5 and low <= found.expected <= high and high > low
        assert high <= distance + best.interval[1] + 1e-9  # type: ignore[index]
    assert own_result(13.5, best, others[:0], {}) is None


def test_what_can_not_be_is_refused(folder: Path, tmp_path: Path) -> None:
    out = run(
        "twin",
        folder / "movie.tif",
        "--pixel-size",
        "110",
        "--offset",
        "90000",
        "--photons-per-count",
        "1",
        "--out",
        tmp_path / "twin",
    )
    assert out.returncode == 2 and "the brightest pixel of the first frame has" in out.stderr
    assert not (tmp_path / "twin").exists()
