"""What goes into a page: bounded, escaped, complete."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.formats.write import write
from flatmetric.localizations import Provenance
from flatmetric.quality.findings import Finding
from flatmetric.reports import board_page as pages_of_boards
from flatmetric.reports import camera, picture
from flatmetric.reports.board_page import Board, board_page
from flatmetric.reports.camera import camera_content, open_movie
from flatmetric.reports.html import Section, page, table
from flatmetric.reports.page_data import chosen_frames, curve_content, field_content, frames_content, series_content
from flatmetric.reports.parts import NamedScore
from flatmetric.reports.score_page import score_page
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import rank
from tests.scenes import draw, run

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

PIXELS = Provenance(pixel_size=(100.0, 100.0))
NOTHING: dict[str, Any] = {"frame": np.empty(0, dtype=np.int64), "x": np.empty(0), "y": np.empty(0)}


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
    content = frames_content([score], 10_000)
    assert content["total"] == len(content["shown"])
    truth = score.matched.truth
    assert sum(len(frame["truth"]["row"]) for frame in content["shown"]) == len(truth)
    for frame in content["shown"]:
        partners = [i for i in frame["programs"][0]["partner"] if i >= 0]
        assert len(set(partners)) == len(partners) and all(i < len(frame["truth"]["row"]) for i in partners)
        assert (truth.frame[frame["truth"]["row"]] == frame["frame"]).all()


def test_with_photons_as_weights_a_row_still_costs_its_distance_or_lam() -> None:
    truth = {"frame": [1, 1, 1], "x": [0.0, 900.0, 5000.0], "y": [0.0] * 3, "photons": [100.0, 300.0, 50.0]}
    pred = {"frame": [1, 1], "x": [30.0, 9000.0], "y": [40.0, 0.0], "photons": [100.0, 70.0]}
    scored = fm.score(truth, pred, weights="photons", lam=125)
    (frame,) = frames_content([scored], 100)["shown"]
    (one,) = frame["programs"]
    assert one["truth_cost"] == [50, 125, 125] and one["pred_cost"] == [0, 125] and one["partner"] == [0, -1]


def test_long_series_are_averaged_and_keep_their_sum() -> None:
    truth, pred = draw(np.random.default_rng(0), 1800, 0.9, 20.0)
    scored = fm.score(truth, pred)
    series = series_content(scored)
    assert series["together"] == 3 and len(series["frame"]) == 600
    total = 3 * sum(sum(series[part]) for part in ("displaced", "missed", "false"))
    assert isinstance(scored.flat_metric.value, float)
    assert total == pytest.approx(scored.flat_metric.value * len(scored.matched.truth_kept), rel=1e-3)


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)


def test_many_places_are_counted_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    truth = {"frame": rng.integers(1, 100, 5000), "x": rng.uniform(0, 9000, 5000), "y": rng.uniform(0, 4000, 5000)}
    scored = fm.score(truth, {name: column[:3000] for name, column in truth.items()})
    monkeypatch.setattr(picture, "MOST_PLACES", 7000)
    content = picture.picture_content([scored])
    (program,) = content["programs"]
    layers = {"truth": content["truth"], **{name: program[name] for name in ("found", "missed", "false")}}
    expected = {"truth": 5000, "found": 3000, "missed": 2000, "false": 0}
    assert content["kind"] == "squares"
    assert {name: layer["count"] for name, layer in layers.items()} == expected
    assert {name: int(unpacked(layer["squares"], "u1").sum()) for name, layer in layers.items()} == expected


def test_few_places_are_all_there_to_a_nanometre(score: fm.Score) -> None:
    content = picture.picture_content([score])
    (left, right), truth = content["x"], score.matched.kept_truth
    x = left + (right - left) * unpacked(content["truth"]["x"], "<u2") / 65535
    np.testing.assert_allclose(x, truth.x, atol=0.5)
    assert content["programs"][0]["missed"]["count"] == int((score.costs.truth_partner < 0).sum())


def test_the_picture_is_blurred_by_the_precision(score: fm.Score) -> None:
    assert picture.blur(score) == pytest.approx(25.0, rel=0.15)  # as the errors were drawn
    shifted = dataclasses.replace(score.matched.pred, x=score.matched.pred.x + 40.0)
    assert picture.blur(fm.score(score.matched.truth, shifted)) == pytest.approx(picture.blur(score), rel=0.15)
    assert picture.blur(fm.score(score.matched.truth, NOTHING)) == 15.0
    assert picture.blur(fm.score(score.matched.truth, score.matched.truth)) == 2.0


def test_what_programs_find_is_counted_for_every_pair(score: fm.Score) -> None:
    other = fm.score(score.matched.truth, score.matched.pred.select(np.arange(20)))
    shared = picture.shared_content([score, other])
    found = [one.costs.truth_partner >= 0 for one in (score, other)]
    assert shared["only"] == [[0, int((found[0] & ~found[1]).sum())], [int((found[1] & ~found[0]).sum()), 0]]
    assert shared["both"][0][1] == int((found[0] & found[1]).sum())
    np.testing.assert_array_equal(unpacked(shared["found"], "u1"), found[0] + 2 * found[1])


def test_the_field_tells_shares_and_keeps_all_false(score: fm.Score) -> None:
    field = field_content(score)
    assert sum(map(sum, field["false"])) <= int((score.costs.pred_partner < 0).sum())
    known = [share for row in field["share"] for share in row if share is not None]
    assert 0 <= min(known) <= max(known) <= 1


def test_camera_images_are_quantised_by_their_noise(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.poisson(rng.uniform(50, 4000, (5, 16, 24))).astype(np.uint16)
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", images)
    movie = open_movie(tmp_path / "a.tif", dataclasses.replace(fm.Localizations(**NOTHING), provenance=PIXELS))
    content = camera_content(movie, [4, 2, 99])
    assert list(content["images"]) == ["4", "2"] and (content["width"], content["height"]) == (24, 16)
    steps = unpacked(content["images"]["4"], "u1").reshape(16, 24) / 255
    counts = content["low"] + steps**2 * (content["high"] - content["low"])
    np.testing.assert_allclose(counts, images[3], atol=40)
    with pytest.raises(fm.InputError, match=r"a\.tif: does not say its pixel size; give pixel_size= in nm"):
        open_movie(tmp_path / "a.tif")


def test_of_too_many_images_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera, "_MOST_BYTES", 64 * 64 * 1.1 * 3)
    stack = Path(fm.__file__).parent / "data" / "demo_stack.ome.tif"
    assert list(camera_content(open_movie(stack), [5, 9, 2, 7])["images"]) == ["5", "9", "2"]


def test_curves_are_exact_where_they_are_given(score: fm.Score) -> None:
    content = curve_content(score, 250.0)
    exact = score.curve(250.0)
    np.testing.assert_allclose(content["value"], exact(np.array(content["lam"])), atol=1e-3)
    assert content["breakpoints"] == len(exact.lam)


@pytest.mark.parametrize("rules", [{}, {"first_frame": 10_000}])
def test_scores_of_nothing_have_a_page(score: fm.Score, rules: dict[str, int]) -> None:
    empty = fm.score(score.matched.truth, NOTHING, protocol=fm.Protocol(**rules))  # type: ignore[arg-type]
    html = score_page(
        NamedScore("empty", empty, findings=(Finding("file", "nothing was found", None, None, 1.0),)),
        "flatmetric score a b",
    )
    content_of(html)
    assert "nothing was found" in html


def test_everything_from_users_is_escaped(score: fm.Score) -> None:
    evil = "</script><img src=x onerror=alert(1)>'\""
    html = score_page(
        NamedScore(evil, score, findings=(Finding("file", evil, None, None, 1.0),)), f"flatmetric score {evil}"
    )
    assert evil not in html and "<img" not in html.replace("plotly", "").split("<script>")[0]
    assert content_of(html)["programs"][0]["name"] == evil  # type: ignore[index]
    entries = [entry_of(evil, name, score) for name in (evil, "other")]
    html = board_page(
        Board(
            rank(entries),
            entries,
            {(evil, evil): evil},
            evil,
            {(evil, evil): [evil]},
            {evil: [evil]},
            {(evil, evil): evil},
        )
    )
    assert evil not in html
    assert "&lt;/script&gt;" in table(evil, evil, [evil], [[evil]]) and evil not in table(evil, evil, [evil], [[evil]])
    assert evil not in page(evil, "", [Section("a", evil, "")], {evil: evil})


def test_nothing_in_a_page_points_outside() -> None:
    truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    html = score_page(NamedScore("a", fm.score(truth, truth)), "flatmetric")
    head = html.split("<script>")[0]
    assert "http:" not in head and "https:" not in head
    assert "default-src 'none'" in head


def test_programs_without_a_common_data_set_have_no_overall_rank(score: fm.Score) -> None:
    entries = [entry_of("one", "a", score), entry_of("two", "b", score)]
    html = board_page(Board(rank(entries), entries, {}, "flatmetric leaderboard"))
    assert (
        "There are no overall ranks: no program has a rank in every data set." in html
        and "Ranks in one" in html
        and "Ranks in two" in html
    )
    assert "No result was ranked." in board_page(Board(rank([]), [], {("one", "a"): "broken"}, "flatmetric"))


def test_of_many_programs_only_the_best_are_paired(score: fm.Score, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_of_boards, "_MOST_PAIRS", 450)
    first = entry_of("one", "p0", score)
    entries = [dataclasses.replace(first, program=f"p{k}", costs=first.costs * (1 + k)) for k in range(40)]
    html = board_page(Board(rank(entries), entries, {}, "flatmetric leaderboard"))
    assert "Only the 30 best programs are here" in html
    assert len(content_of(html)["pairs"]) == 30 * 29 / 2  # type: ignore[arg-type]


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


def test_wrong_stacks_are_refused_in_one_sentence_before_the_work(tmp_path: Path) -> None:
    data = Path(fm.__file__).parent / "data"
    files, page = [data / "demo_truth.csv", data / "demo_dog.csv"], tmp_path / "page.html"
    (tmp_path / "no.tif").write_text("nothing")
    wrong: dict[str, list[str | Path]] = {
        "--stack is for the page; give --report too": ["--stack", data / "demo_stack.ome.tif"],
        "none.tif: there is no such file": ["--stack", tmp_path / "none.tif", "--report", page],
        "is not a TIFF file": ["--stack", tmp_path / "no.tif", "--report", page],
    }
    for sentence, words in wrong.items():
        out = run("score", *files, *words)
        assert out.returncode == 2 and sentence in out.stderr and out.stdout == "" and not page.exists()
        assert len(out.stderr.strip().splitlines()) == 1
    with pytest.raises(fm.InputError, match="only the page of a score or a comparison shows camera images"):
        fm.report(fm.read(files[0]), page, stack=data / "demo_stack.ome.tif")


def test_a_stack_without_a_pixel_size_takes_that_of_the_tables(tmp_path: Path) -> None:
    import tifffile

    data = Path(fm.__file__).parent / "data"
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((80, 64, 64), np.uint16))
    words: list[str | Path] = [
        "score",
        data / "demo_truth.csv",
        data / "demo_dog.csv",
        "--report",
        tmp_path / "p.html",
        "--stack",
    ]
    out = run(*words, tmp_path / "a.tif")
    assert out.returncode == 2 and "does not say its pixel size; give --pixel-size in nm" in out.stderr
    assert not (tmp_path / "p.html").exists()
    assert run(*words, tmp_path / "a.tif", "--pixel-size", "100").returncode == 0
    frames: Any = content_of((tmp_path / "p.html").read_text(encoding="utf-8"))["frames"]
    assert frames["camera"]["pixel"] == 100


def test_a_folder_of_pages_has_names_that_do_not_collide(tmp_path: Path) -> None:
    data = Path(fm.__file__).parent / "data"
    (tmp_path / "d" / "results").mkdir(parents=True)
    (tmp_path / "d" / "truth.csv").write_bytes((data / "demo_truth.csv").read_bytes())
    for name in ("a b", "a-b", "\N{GREEK SMALL LETTER ALPHA}", "<x>"):
        (tmp_path / "d" / "results" / f"{name}.csv").write_bytes((data / "demo_dog.csv").read_bytes())
    out = run("leaderboard", tmp_path, "--report", tmp_path / "pages")
    assert out.returncode == 0, out.stderr
    assert len(list((tmp_path / "pages" / "programs").iterdir())) == 4
    index = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    for link in re.findall(r"href='((?:programs|datasets)/[^']+)'", index):
        assert (tmp_path / "pages" / unquote(link)).is_file()
    (tmp_path / "file").write_text("mine")
    out = run("leaderboard", tmp_path, "--report", tmp_path / "file")
    assert out.returncode == 2 and (tmp_path / "file").read_text() == "mine"
