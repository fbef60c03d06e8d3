"""What goes into a page: bounded, escaped, complete."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.formats.write import write
from flatmetric.pages.board_page import board_page
from flatmetric.pages.html import page, table
from flatmetric.pages.sampling import chosen_frames, curve_content, field_content, frames_content, series_content
from flatmetric.pages.score_page import Scored, score_page
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import rank
from tests.scenes import draw, run

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

NOTHING = {"frame": np.empty(0, dtype=np.int64), "x": np.empty(0), "y": np.empty(0)}


@pytest.fixture(scope="module")
def score() -> fm.Score:
    truth, pred = draw(np.random.default_rng(3), 50, 0.8, 25.0)
    return fm.score(truth, pred)


def content_of(html: str) -> dict[str, object]:
    found = re.search(r"<script type='application/json' id='content'>(.*?)</script>", html, re.S)
    assert found is not None
    content: dict[str, object] = json.loads(found[1])
    return content


def test_of_too_many_frames_the_worst_and_some_of_the_rest_are_kept() -> None:
    rng = np.random.default_rng(0)
    cost, rows = rng.random(1000), rng.integers(1, 20, 1000)
    kept = chosen_frames(cost, rows, 800)
    assert 600 < rows[kept].sum() <= 800
    assert (np.diff(kept) > 0).all()
    worst = np.argsort(-cost)[:20]
    assert np.isin(worst, kept).all()
    assert kept.min() < 60 and kept.max() > 940


def test_the_worst_frame_is_kept_however_large_it_is() -> None:
    cost, rows = np.arange(20.0), np.full(20, 300)
    rows[1], cost[1] = 2400, 99.0
    assert 1 in chosen_frames(cost, rows, 4500)
    assert chosen_frames(np.array([5.0]), np.array([50_000]), 36_000).tolist() == [0]


def test_a_frame_holds_its_rows_and_their_partners(score: fm.Score) -> None:
    content = frames_content(score, 10_000)
    assert content["total"] == len(content["shown"])
    truth = score.matched.truth
    assert sum(len(frame["truth"]["row"]) for frame in content["shown"]) == len(truth)
    for frame in content["shown"]:
        for i, j in enumerate(frame["truth"]["partner"]):
            if j >= 0:
                assert frame["pred"]["partner"][j] == i
        assert (truth.frame[frame["truth"]["row"]] == frame["frame"]).all()


def test_with_photons_as_weights_a_row_still_costs_its_distance_or_lam() -> None:
    truth = {"frame": [1, 1, 1], "x": [0.0, 900.0, 5000.0], "y": [0.0] * 3, "photons": [100.0, 300.0, 50.0]}
    pred = {"frame": [1, 1], "x": [30.0, 9000.0], "y": [40.0, 0.0], "photons": [100.0, 70.0]}
    scored = fm.score(truth, pred, weights="photons", lam=125)
    (frame,) = frames_content(scored, 100)["shown"]
    assert frame["truth"]["cost"] == [50, 125, 125] and frame["pred"]["cost"] == [0, 125]


def test_long_series_are_averaged_and_keep_their_sum() -> None:
    truth, pred = draw(np.random.default_rng(0), 1800, 0.9, 20.0)
    scored = fm.score(truth, pred)
    series = series_content(scored)
    assert series["together"] == 3 and len(series["frame"]) == 600
    total = 3 * sum(sum(series[part]) for part in ("displaced", "missed", "false"))
    assert isinstance(scored.flat_metric.value, float)
    assert total == pytest.approx(scored.flat_metric.value * len(scored.matched.truth_kept), rel=1e-3)


def test_many_places_are_counted_and_none_is_lost() -> None:
    rng = np.random.default_rng(0)
    truth = {"frame": rng.integers(1, 100, 5000), "x": rng.uniform(0, 9000, 5000), "y": rng.uniform(0, 4000, 5000)}
    scored = fm.score(truth, {name: column[:3000] for name, column in truth.items()})
    field = field_content(scored)
    assert field["kind"] == "counts"
    assert {name: int(np.sum(layer)) for name, layer in field["layers"].items()} == {
        "truth": 5000,
        "found": 3000,
        "missed": 2000,
        "false": 0,
    }


def test_curves_are_exact_where_they_are_given(score: fm.Score) -> None:
    content = curve_content(score, 250.0)
    exact = score.curve(250.0)
    np.testing.assert_allclose(content["value"], exact(np.array(content["lam"])), atol=1e-3)
    assert content["breakpoints"] == len(exact.lam)


@pytest.mark.parametrize("rules", [{}, {"first_frame": 10_000}])
def test_scores_of_nothing_have_a_page(score: fm.Score, rules: dict[str, int]) -> None:
    empty = fm.score(score.matched.truth, NOTHING, protocol=fm.Protocol(**rules))  # type: ignore[arg-type]
    html = score_page(Scored("empty", empty, warnings=("nothing was found",)), "flatmetric score a b")
    content_of(html)
    assert "nothing was found" in html


def test_everything_from_users_is_escaped(score: fm.Score) -> None:
    evil = "</script><img src=x onerror=alert(1)>'\""
    html = score_page(Scored(evil, score, warnings=(evil,)), f"flatmetric score {evil}")
    assert evil not in html and "<img" not in html.replace("plotly", "").split("<script>")[0]
    assert content_of(html)["programs"][0]["name"] == evil  # type: ignore[index]
    entries = [entry_of(evil, name, score) for name in (evil, "other")]
    html = board_page(rank(entries), entries, {(evil, evil): evil}, evil)
    assert evil not in html
    assert "&lt;/script&gt;" in table(evil, evil, [evil], [[evil]]) and evil not in table(evil, evil, [evil], [[evil]])
    assert evil not in page(evil, evil, [("a", evil, "")], {evil: evil})


def test_nothing_in_a_page_points_outside() -> None:
    truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    html = score_page(Scored("a", fm.score(truth, truth)), "flatmetric")
    head = html.split("<script>")[0]
    assert "http:" not in head and "https:" not in head
    assert "default-src 'none'" in head


def test_programs_without_a_common_data_set_have_no_overall_rank(score: fm.Score) -> None:
    entries = [entry_of("one", "a", score), entry_of("two", "b", score)]
    html = board_page(rank(entries), entries, {}, "flatmetric leaderboard")
    assert "there is no overall rank" in html and "Ranks in one" in html and "Ranks in two" in html
    assert "No result was scored." in board_page(rank([]), [], {("one", "a"): "broken"}, "flatmetric leaderboard")


def test_of_many_programs_only_the_best_are_paired(score: fm.Score) -> None:
    first = entry_of("one", "p0", score)
    entries = [dataclasses.replace(first, program=f"p{k}", costs=first.costs * (1 + k)) for k in range(300)]
    html = board_page(rank(entries), entries, {}, "flatmetric leaderboard")
    assert "Only the 126 best programs are here" in html
    assert len(html) < 8_000_000


@pytest.mark.parametrize("command", ["score", "compare", "leaderboard"])
def test_a_page_that_cannot_be_written_is_found_out_first(tmp_path: Path, command: str) -> None:
    data = Path(fm.__file__).parent / "data"
    files = [data / "demo_truth.csv", data / "demo_baseline.csv"]
    if command == "compare":
        files.append(data / "demo_dog.csv")
    if command == "leaderboard":
        (tmp_path / "d" / "results").mkdir(parents=True)
        (tmp_path / "d" / "truth.csv").write_bytes(files[0].read_bytes())
        (tmp_path / "d" / "results" / "a.csv").write_bytes(files[1].read_bytes())
        files = [tmp_path]
    out = run(command, *files, "--report", tmp_path / "none" / "page.html")
    assert out.returncode == 2 and "does not exist" in out.stderr and out.stdout == ""
    out = run(command, *files, "--report", tmp_path / "page.html")
    assert out.returncode == 0, out.stderr
    first = (tmp_path / "page.html").read_bytes()
    assert b"flatmetric " + command.encode() in first
    run(command, *files, "--report", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == first


def test_a_page_takes_the_place_of_no_other_output(tmp_path: Path) -> None:
    data = Path(fm.__file__).parent / "data"
    (tmp_path / "d" / "results").mkdir(parents=True)
    (tmp_path / "d" / "truth.csv").write_bytes((data / "demo_truth.csv").read_bytes())
    (tmp_path / "d" / "results" / "a.csv").write_bytes((data / "demo_dog.csv").read_bytes())
    rules = tmp_path / "rules.toml"
    rules.write_text("tolerance = 200.0")
    run("leaderboard", tmp_path)
    for target in (rules, tmp_path / "leaderboard" / "leaderboard.json"):
        before = target.read_bytes()
        out = run("leaderboard", tmp_path, "--protocol", rules, "--report", target)
        assert out.returncode == 2 and target.read_bytes() == before


def test_names_of_any_bytes_have_a_page(tmp_path: Path) -> None:
    data = Path(fm.__file__).parent / "data"
    odd = tmp_path / os.fsdecode(b"\xff.csv")
    odd.write_bytes((data / "demo_dog.csv").read_bytes())
    out = run("score", data / "demo_truth.csv", odd, "--report", tmp_path / "page.html")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_of_a_comparison_tells_what_a_check_finds(tmp_path: Path) -> None:
    data = Path(fm.__file__).parent / "data"
    shifted = tmp_path / "shifted.csv"
    table = fm.read(data / "demo_baseline.csv")
    write(dataclasses.replace(table, x=table.x + 50.0), shifted, "thunderstorm")
    page_file = tmp_path / "page.html"
    out = run("compare", data / "demo_truth.csv", shifted, data / "demo_dog.csv", "--report", page_file)
    assert out.returncode == 0, out.stderr
    page = page_file.read_text(encoding="utf-8")
    assert "shifted: everything is shifted by x +" in page and "submissions.toml: shift = [" in page
