"""The pages in a real browser, driven as a person would: what is visible after each step is what is asserted."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import flatmetric as fm
from flatmetric.metrics.table import METRICS
from flatmetric.plots import style
from flatmetric.reports.parts import NamedScore
from flatmetric.reports.score_page import score_page
from flatmetric.statistics.intervals import intervals_of
from tests.challenges.board import make_board
from tests.reports.browser import Browser, cut_off, emulate, only_the_file, start, violations
from tests.scenes import draw, million, run

EVIL = "<img src=x onerror=alert(1)>"
LARGEST = 8_000_000
DATA = Path(fm.__file__).parent / "data"
STACK = DATA / "demo_stack.ome.tif"
PAGES = ["demo", "score", "board", "program", "challenge"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = start(tmp_path_factory.mktemp("downloads"))
    yield opened
    opened.driver.quit()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of two programs, with camera images."""
    page = tmp_path_factory.mktemp("demo") / "demo.html"
    out = run("demo", "--out", page)
    assert out.returncode == 0, out.stderr
    return page


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One program, with camera images."""
    page = tmp_path_factory.mktemp("score") / "score.html"
    files = DATA / "demo_truth.csv", DATA / "demo_baseline.csv"
    out = run("score", *files, "--report", page, "--stack", STACK)
    assert out.returncode == 0, out.stderr
    return page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pages of a leaderboard: twelve programs on two data sets, one with a name to be escaped."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("board")
    names = [("good", 0.95, 10.0), ("fair", 0.8, 30.0), (EVIL.replace("/", ""), 0.5, 60.0)]
    names += [(f"other-{k}", 0.4 + 0.05 * k, 40.0) for k in range(9)]
    for seed, dataset in enumerate(("one", "two")):
        (folder / dataset / "results").mkdir(parents=True)
        for name, quality, error in names:
            truth, pred = draw(np.random.default_rng(seed), 60, quality, error)
            pd.DataFrame(truth).to_csv(folder / dataset / "truth.csv", index=False)
            if name == "fair":
                pred["x"] = pred["x"] + 60.0  # something that a check finds
            pd.DataFrame(pred).to_csv(folder / dataset / "results" / f"{name}.csv", index=False)
    (folder / "two" / "results" / "broken.csv").write_text("nothing")
    out = run("leaderboard", folder, "--report", folder / "pages")
    assert out.returncode == 0, out.stderr
    return folder / "pages"


@pytest.fixture(scope="module")
def board(pages: Path) -> Path:
    return pages / "index.html"


@pytest.fixture(scope="module")
def program(pages: Path) -> Path:
    return pages / "programs" / "good.html"


@pytest.fixture(scope="module")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("challenge")
    words = ["--dataset", "ER1.N3.LD", "--dataset", "MT4.N2.HD", "--frames", "8", "--tune", "4"]
    out = run("challenge", "run", "--out", folder, *words, "--participant", "dog", "--participant", "log")
    assert out.returncode == 0, out.stderr
    return folder / "challenge.html"


def pixels(browser: Browser, plane: str) -> Any:
    """What a picture shows: (height, width, 3)."""
    code = """
        const canvas = document.querySelector(arguments[0] + ' canvas');
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let text = '';
        for (let k = 0; k < data.length; k += 4) text += String.fromCharCode(data[k], data[k + 1], data[k + 2]);
        return [canvas.width, canvas.height, btoa(text)];
    """
    width, height, text = browser.script(code, plane)
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 3).astype(int)


def count_of(image: Any, color: str) -> int:
    """How many pixels come close to a colour."""
    wanted = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)])
    return int((np.abs(image - wanted).max(axis=2) < 40).sum())


def seen(browser: Browser, plane: str) -> list[float]:
    """The part of the field that a picture shows, nm: left, right, top, bottom."""
    text = browser.script("return document.querySelector(arguments[0]).dataset.seen", plane)
    return [float(part) for part in text.split()]


def frame_shown(browser: Browser, place: str = "a") -> int:
    found = re.search(r"[Ff]rame (\d+) ", browser.text(f"#frame-{place}-text"))
    assert found is not None
    return int(found[1])


def visible(browser: Browser, selector: str) -> bool:
    """Whether a person sees an element: it takes room on the screen, and nothing lies over its middle."""
    code = """
        const element = document.querySelector(arguments[0]);
        if (!element) return false;
        const box = element.getBoundingClientRect();
        if (!box.width || !box.height || getComputedStyle(element).visibility !== 'visible') return false;
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height, 40) / 2);
        return Boolean(top) && (element.contains(top) || top.contains(element));
    """
    return bool(browser.script(code, selector))


@pytest.mark.parametrize("name", PAGES)
def test_pages_load_without_a_word_and_fetch_nothing(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    page: Path = request.getfixturevalue(name)
    browser.open(page)
    assert page.stat().st_size < LARGEST
    assert browser.complaints() == []
    assert only_the_file(browser, page)
    browser.picture(name)


# The first screen


def test_the_first_screen_of_a_score_answers(emulated: Browser, score: Path) -> None:
    emulate(emulated, 1280, "light", height=860)
    emulated.open(score)
    value: Any = fm.score(DATA / "demo_truth.csv", DATA / "demo_baseline.csv").flat_metric
    assert emulated.text("#value") == f"{value.value:.1f} nm"
    assert re.search(r"[\d.]+ to [\d.]+ nm \(95 % interval\)", emulated.text(".verdict"))
    bottom = (
        "return Math.max(...[...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect().bottom))"
    )
    for part in ("#value", "#budget-bar .legend", ".tiles", "#advice h2", "#picture .plane"):
        assert visible(emulated, part), part
        assert emulated.script(bottom, part) <= 860, part
    sizes = emulated.script(
        "return [...document.querySelectorAll('.budget span')].map(e => e.getBoundingClientRect().width)"
    )
    parts = [value.displaced, value.missed, value.false]
    np.testing.assert_allclose(np.array(sizes) / sum(sizes), np.array(parts) / value.value, atol=0.01)
    assert emulated.text(".legend .missed") == f"missed {value.missed:.1f} nm {100 * value.missed / value.value:.0f} %"
    tiles = emulated.script("return [...document.querySelectorAll('.tiles li')].map(e => e.innerText)")
    assert [tile.split()[0] for tile in tiles] == ["recall", "precision", "RMSE", "bias"]
    assert all(re.search(r"[-+\d.]+ to [-+\d.]+", tile) and "perfect" in tile for tile in tiles)
    emulated.picture("first-screen")


def test_what_is_wrong_stands_above_everything_and_a_note_below(browser: Browser, score: Path, tmp_path: Path) -> None:
    top = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    browser.open(score)
    assert not browser.script("return document.querySelector('.alert')")
    files = DATA / "demo_truth.csv", DATA / "demo_baseline.csv"
    found = fm.read(files[1])
    inside = (np.abs(found.x - 3200) < 2800) & (np.abs(found.y - 3200) < 2800)  # as of a program blind at the edge
    fm.convert(found.select(inside), tmp_path / "blind.csv")
    out = run("score", files[0], tmp_path / "blind.csv", "--report", tmp_path / "blind.html")
    assert out.returncode == 0, out.stderr
    browser.open(tmp_path / "blind.html")
    assert not browser.script("return document.querySelector('.alert')")
    assert re.search(
        r"Note: \d+ % of the missed molecules lie within \d+ nm of the edge: --border", browser.text("#advice")
    )
    out = run("score", *files, "--swap-xy", "--report", tmp_path / "wrong.html")
    assert out.returncode == 0, out.stderr
    browser.open(tmp_path / "wrong.html")
    text = browser.text(".alert")
    assert "x and y are exchanged" in text and re.search(r"Flat Metric 2\d\d\.\d to 5\d\.\d nm", text)
    assert browser.script(top, ".alert") < browser.script(top, "h1") < browser.script(top, "#value")
    assert "advice waits for that" in browser.text("#advice")


def test_layers_of_the_picture_can_be_switched(browser: Browser, score: Path) -> None:
    browser.open(score)
    before = pixels(browser, "#picture-a")
    both = (before.min(axis=2) > 120).sum()
    assert both > 100  # where truth and result agree it is white
    browser.element("input[name=layer][value=found]").click()
    without = pixels(browser, "#picture-a")
    assert without[..., 1].max() < 30 or (without.min(axis=2) > 120).sum() < both / 2
    assert count_of(without, "#ff00ff") > 50  # truth alone is magenta
    browser.element("input[name=layer][value=truth]").click()
    browser.element("input[name=layer][value=missed]").click()
    missed = pixels(browser, "#picture-a")
    assert count_of(missed, "#ff8640") > 500 and count_of(missed, "#ffc933") < 20
    browser.element("input[name=layer][value=false]").click()
    assert count_of(pixels(browser, "#picture-a"), "#ffc933") > 20  # two of them


def test_the_picture_moves_and_zooms_by_hand_and_by_keys(browser: Browser, score: Path) -> None:
    browser.open(score)
    canvas = browser.element("#picture-a canvas")
    whole = seen(browser, "#picture-a")
    assert browser.element("#picture-a").get_attribute("data-scale-bar") == "1 \N{MICRO SIGN}m"
    browser.element("#picture-a [data-zoom=in]").click()
    browser.element("#picture-a [data-zoom=in]").click()
    near = seen(browser, "#picture-a")
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 4, rel=0.01)
    assert browser.element("#picture-a").get_attribute("data-scale-bar") == "200 nm"
    ActionChains(browser.driver).move_to_element(canvas).click_and_hold().move_by_offset(60, 40).release().perform()
    moved = seen(browser, "#picture-a")
    assert moved[0] < near[0] and moved[2] < near[2]
    canvas.send_keys("0")
    assert seen(browser, "#picture-a") == whole
    canvas.send_keys("+", "+", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    keyed = seen(browser, "#picture-a")
    assert keyed[0] > near[0] and keyed[2] > near[2]
    ActionChains(browser.driver).scroll_from_origin(_origin(canvas), 0, -100).perform()
    browser.wait(lambda: seen(browser, "#picture-a")[1] - seen(browser, "#picture-a")[0] < near[1] - near[0], "zoomed")
    assert browser.complaints() == []


def _origin(element: Any) -> Any:
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    return ScrollOrigin.from_element(element)


def test_what_to_do_next_is_told_with_its_gain(browser: Browser, score: Path) -> None:
    browser.open(score)
    listed = browser.script("return [...document.querySelectorAll('.advice li')].map(e => e.innerText)")
    expected = fm.score(DATA / "demo_truth.csv", DATA / "demo_baseline.csv").advice
    assert listed == [f"\N{MINUS SIGN}{one.gain:.1f} nm {one.sentence}" for one in expected] and expected
    assert "would take the Flat Metric from 57.8 to" in browser.text("#advice")


# Frames


def test_slider_buttons_and_keys_move_the_frame(browser: Browser, score: Path) -> None:
    browser.open(score)
    worst = frame_shown(browser)
    browser.element("#slider").send_keys(Keys.ARROW_RIGHT)
    second = frame_shown(browser)
    assert second != worst
    browser.element("#previous").click()
    assert frame_shown(browser) == worst
    ActionChains(browser.driver).click(browser.element("h1")).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    third = frame_shown(browser)
    assert third not in (worst, second)
    ActionChains(browser.driver).send_keys(Keys.ARROW_LEFT).perform()
    assert frame_shown(browser) == second
    browser.choose("#order", "frame")
    assert frame_shown(browser) == 1
    assert "1 of 80" in str(browser.element("#slider").get_attribute("aria-valuetext"))
    number = browser.element("#frame-number")
    number.send_keys(Keys.CONTROL + "a")
    number.send_keys("33", Keys.ENTER)
    assert frame_shown(browser) == 33
    assert browser.complaints() == []


@pytest.mark.parametrize(("order", "pattern"), [("cost", r"costs ([\d.]+) nm in all"), ("each", r"([\d.]+) nm per")])
def test_the_frames_come_worst_first(browser: Browser, score: Path, order: str, pattern: str) -> None:
    browser.open(score)
    browser.choose("#order", order)
    costs = []
    for _ in range(5):
        found = re.search(pattern, browser.text("#frame-a-text"))
        assert found is not None
        costs.append(float(found[1]))
        browser.element("#next").click()
    assert costs == sorted(costs, reverse=True) and costs[0] > costs[-1]


def test_the_camera_image_lies_under_the_points(browser: Browser, score: Path) -> None:
    from tifffile import imread

    browser.open(score)
    browser.choose("#order", "frame")
    shown, camera = pixels(browser, "#frame-a"), imread(STACK)[0].astype(float)
    left, right, top, bottom = seen(browser, "#frame-a")
    height, width, _ = shown.shape
    rows = ((np.arange(64) + 0.5) * 100 - top) / (bottom - top) * height
    columns = ((np.arange(64) + 0.5) * 100 - left) / (right - left) * width
    sampled = shown[rows.astype(int)[:, None], columns.astype(int)[None, :]].mean(axis=2)
    assert np.corrcoef(sampled.ravel(), camera.ravel())[0, 1] > 0.8
    browser.element("#contrast").send_keys(Keys.END)
    assert pixels(browser, "#frame-a").mean() > 1.5 * shown.mean()
    browser.element("#contrast").send_keys(Keys.HOME)
    assert pixels(browser, "#frame-a").mean() < shown.mean()


def test_error_vectors_can_be_enlarged(browser: Browser, score: Path) -> None:
    browser.open(score)
    before = count_of(pixels(browser, "#frame-a"), "#56b4e9")
    browser.choose("#enlarge", "30")
    assert count_of(pixels(browser, "#frame-a"), "#56b4e9") > 2 * before


def test_a_click_on_a_bar_opens_its_frame(browser: Browser, score: Path) -> None:
    browser.open(score)
    code = """
        const svg = [...document.querySelectorAll('#series-a svg')].pop();
        svg.scrollIntoView({block: 'center'});
        const bars = svg.querySelectorAll('g[aria-label=rect] rect'), box = bars[arguments[0]].getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    """
    for frame in (12, 61):
        x, y = browser.script(code, 3 * (frame - 1))
        moves = ActionChains(browser.driver)
        moves.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        moves.click().perform()
        assert frame_shown(browser) == frame
    browser.element("#series-a").send_keys(Keys.ARROW_RIGHT)
    assert frame_shown(browser) == 62
    browser.element("#series-a").send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert frame_shown(browser) == 60
    assert browser.element("#series-a").get_attribute("aria-valuenow") == "60"


def test_pointing_at_a_molecule_tells_its_cost_and_its_partner(browser: Browser, score: Path) -> None:
    browser.open(score)
    content = json.loads(browser.text("#content"))
    frame = next(one for one in content["frames"]["shown"] if one["frame"] == frame_shown(browser))
    code = """
        const canvas = document.querySelector('#frame-a canvas');
        canvas.scrollIntoView({block: 'center'});
        const box = canvas.getBoundingClientRect(), [left, right, top, bottom] = arguments[2];
        return [box.x + box.width * (arguments[0] - left) / (right - left),
                box.y + box.height * (arguments[1] - top) / (bottom - top)];
    """
    place = browser.script(code, frame["truth"]["x"][0], frame["truth"]["y"][0], seen(browser, "#frame-a"))
    moves = ActionChains(browser.driver)
    moves.w3c_actions.pointer_action.move_to_location(round(place[0]), round(place[1]))
    moves.perform()
    browser.wait(lambda: visible_tip(browser) != "", "the words show")
    text = visible_tip(browser)
    assert "row" in text and "photons" in text and ("partner" in text) and ("costs" in text or "found" in text)
    browser.picture("hover")


def visible_tip(browser: Browser) -> str:
    return str(browser.script("const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent"))


# Comparisons


def test_one_selector_drives_everything_and_says_so(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    assert "in all pictures and charts below" in browser.text(".choice")
    words = ("#picture-b-caption", "#frame-b-text", "#errors-b-text", "#field-b-caption")
    assert all(browser.text(part).startswith("dog") for part in words)
    browser.script("document.getElementById('errors').scrollIntoView()")
    assert visible(browser, ".choice")  # at the top, wherever one is
    browser.choose("#program-b", "0")
    assert all(browser.text(part).startswith("baseline") for part in words)
    assert browser.text("#shared-text") == "Pick two different programs."
    browser.choose("#program-a", "1")
    assert browser.text("#frame-a-text").startswith("dog")
    both = [fm.score(DATA / "demo_truth.csv", DATA / f"demo_{name}.csv", check=False) for name in ("baseline", "dog")]
    seen = [set(one.matched.matches.truth.tolist()) for one in both]
    assert f"baseline finds {len(seen[0] - seen[1])} that dog misses" in browser.text("#shared-text")
    assert browser.complaints() == []


def test_programs_side_by_side_share_zoom_and_frame(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    for name in ("picture", "frame", "field"):
        assert seen(browser, f"#{name}-a") == seen(browser, f"#{name}-b")
        before = seen(browser, f"#{name}-b")
        browser.script("arguments[0].click()", browser.element(f"#{name}-a [data-zoom=in]"))
        assert seen(browser, f"#{name}-a") == seen(browser, f"#{name}-b") != before
    browser.element("#next").click()
    assert frame_shown(browser, "a") == frame_shown(browser, "b")


def test_what_one_finds_and_the_other_misses_is_counted_and_mapped(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    truth = DATA / "demo_truth.csv"
    found = [fm.score(truth, DATA / f"demo_{name}.csv").costs.truth_partner >= 0 for name in ("baseline", "dog")]
    only = [int((found[0] & ~found[1]).sum()), int((found[1] & ~found[0]).sum())]
    text = browser.text("#shared-text")
    assert f"baseline finds {only[0]} that dog misses" in text and f"dog finds {only[1]} that baseline misses" in text
    assert f"both find {int((found[0] & found[1]).sum())}" in text
    image = pixels(browser, "#shared-map")
    assert count_of(image, "#9d94ff") > 100 and count_of(image, "#5fd38d") > 50  # each in the colour of its program


def test_errors_and_curves_of_both_are_overlaid(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    looks = (
        "return [...document.querySelectorAll(arguments[0] + ' g[aria-label=line] path')].map(path => ["
        "getComputedStyle(path).stroke, getComputedStyle(path).strokeDasharray].join())"
    )
    drawn = {name: browser.script(looks, name) for name in ("#errors-axes", "#curve-chart", "#bins-photons")}
    assert {name: len(lines) for name, lines in drawn.items()} == {
        "#errors-axes": 4,  # dx and dy of both
        "#curve-chart": 2,
        "#bins-photons": 4,  # Flat Metric and Jaccard of both
    }
    one, two = sorted(set(drawn["#curve-chart"]))
    assert all(set(lines) == {one, two} for lines in drawn.values())  # a program looks the same in every chart
    assert {one.endswith("none"), two.endswith("none")} == {True, False}  # and is known by its dashes too
    top = (
        "return [...document.querySelectorAll(arguments[0] + ' g[aria-label^=\"y-axis tick label\"] text')]"
        ".pop().textContent"
    )
    assert browser.script(top, "#series-a") == browser.script(top, "#series-b")  # one scale


def test_a_sentence_says_where_metrics_disagree(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    missed = [
        fm.score(DATA / "demo_truth.csv", DATA / f"demo_{name}.csv", check=False).flat_metric.missed
        for name in ("dog", "baseline")
    ]
    sentence = f"but the worst Flat Metric: missed molecules cost it {missed[0]:.1f} nm, baseline {missed[1]:.1f}."
    assert sentence in browser.text("main")
    assert visible(browser, ".disagree")


def test_numbers_on_the_page_are_those_of_the_score(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    truth, pred = fm.read(DATA / "demo_truth.csv"), fm.read(DATA / "demo_baseline.csv")
    score = fm.score(truth, pred)
    assert isinstance(score.flat_metric.value, float)
    assert browser.text("[data-name=ranking] tbody tr td").startswith(f"{score.flat_metric.value:.2f} ")
    content = json.loads(browser.text("#content"))
    frames = content["frames"]
    assert frames["total"] == len(frames["shown"]) == 80
    total = sum(frame["programs"][0]["cost"] for frame in frames["shown"])
    assert total / len(truth) == pytest.approx(score.flat_metric.value, abs=0.01)
    first = frames["shown"][0]
    for j, i in enumerate(first["programs"][0]["partner"]):
        if i >= 0:
            away = [first["truth"][axis][i] - first["programs"][0][axis][j] for axis in "xy"]
            assert np.hypot(*away) == pytest.approx(first["programs"][0]["truth_cost"][i], abs=0.2)


# Leaderboards and challenges


def column(browser: Browser, name: str, at: int) -> list[str]:
    code = (
        "return [...document.querySelectorAll(arguments[0])].filter(row => !row.hidden)"
        ".map(row => row.children[arguments[1]].innerText)"
    )
    return list(browser.script(code, f"[data-name={name}] tbody tr", at))


def test_sorting_sorts(browser: Browser, board: Path) -> None:
    browser.open(board)
    button = browser.script("return document.querySelectorAll('[data-name=results] button.sort')[4]")
    browser.script("arguments[0].click()", button)
    values = [float(text) for text in column(browser, "results", 4)]
    assert values == sorted(values) and len(values) == 24
    browser.script("arguments[0].click()", button)
    assert [float(text) for text in column(browser, "results", 4)] == values[::-1]
    assert browser.script("return arguments[0].closest('th').getAttribute('aria-sort')", button) == "descending"
    browser.script("document.querySelectorAll('[data-name=results] button.sort')[0].click()")
    names = column(browser, "results", 0)
    assert names.index("fair") < names.index("good")


def test_the_table_can_be_searched(browser: Browser, board: Path) -> None:
    browser.open(board)
    assert len(column(browser, "ranks", 0)) == 12
    browser.element("[data-name=ranks] input[type=search]").send_keys("OTHER-3")
    assert column(browser, "ranks", 0) == ["other-3"]


def test_header_and_first_column_stay_in_sight(emulated: Browser, board: Path) -> None:
    emulate(emulated, 500, "light")
    emulated.open(board)
    code = """
        const scroll = document.querySelector('[data-name=results] .scroll');
        scroll.scrollIntoView(); scroll.scrollLeft = 300; scroll.scrollTop = 200;
        const box = scroll.getBoundingClientRect();
        const at = selector => scroll.querySelector(selector).getBoundingClientRect();
        const header = at('thead th:nth-child(8)'), first = at('tbody tr:nth-child(12) th');
        return [scroll.scrollLeft, scroll.scrollTop, header.top - box.top, first.left - box.left];
    """
    left, top, header, first = emulated.script(code)
    assert left == 300 and top == 200 and abs(header) < 2 and abs(first) < 2


def test_places_letters_budgets_and_suspects_are_in_the_table(browser: Browser, board: Path) -> None:
    browser.open(board)
    name = "ranks-one"
    assert column(browser, name, 0)[0] == "good" and re.fullmatch(r"1 [a-z]+", column(browser, name, 1)[0])
    assert re.match(r"[\d.]+ [\d.]+ to [\d.]+", column(browser, name, 2)[0])
    suspects = dict(zip(column(browser, name, 0), column(browser, name, 4), strict=True))
    assert suspects["fair"] == "shift" and suspects["good"] == ""
    widths = browser.script(
        "return [...document.querySelectorAll('[data-name=ranks-one] tbody tr')].map(row =>"
        " [...row.querySelectorAll('.small-bar i')].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0))"
    )
    values = [float(text.split()[0]) for text in column(browser, name, 2)]
    assert np.corrcoef(widths, values)[0, 1] > 0.999
    browser.script("document.querySelector('[data-name=ranks-one]').scrollIntoView({block: 'center'})")
    assert visible(browser, "[data-name=ranks-one] .small-bar")


def test_each_program_has_a_page_and_a_way_back(browser: Browser, board: Path) -> None:
    browser.open(board)
    browser.element("[data-name=ranks] tbody a").click()
    browser.wait(lambda: browser.text("h1") == "good", "its page is open")
    assert "Place 1 of 12 overall" in browser.text("main")
    assert len(browser.script("return [...document.querySelectorAll('[data-name=results] tbody tr')]")) == 2
    browser.element(".bar > a").click()
    browser.wait(lambda: browser.text("h1").startswith("Best of 12"), "the leaderboard is back")
    for link in browser.script("return [...document.querySelectorAll('[data-name=ranks] a')].map(a => a.href)"):
        assert Path(link.removeprefix("file://").replace("%20", " ")).is_file()


def test_the_two_best_are_compared_and_any_others(browser: Browser, board: Path) -> None:
    browser.open(board)
    best = column(browser, "ranks", 0)[:2]
    chosen = [browser.script("return document.getElementById(arguments[0]).value", f"pair-{k}") for k in "ab"]
    assert chosen == best
    browser.choose("#pair-a", "other-1")
    browser.choose("#pair-b", "good")
    code = "return [...document.querySelectorAll('#pair-table tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    rows = browser.script(code)
    assert [row[0] for row in rows] == ["one", "two"]
    assert all(float(row[1]) > 0 and row[3].startswith("good is better than other-1 by") for row in rows)
    browser.choose("#pair-b", "other-1")
    assert browser.text("#pair-text") == "Pick two different programs."


def test_any_metric_against_any_other(browser: Browser, board: Path) -> None:
    browser.open(board)
    dots = "return document.querySelectorAll('#metric-scatter g[aria-label=dot] path').length"
    assert browser.script(dots) == 24
    browser.choose("#metric-x", "flat_metric")
    browser.choose("#metric-y", "jaccard")
    assert "Spearman over all results that are ranked: -" in browser.text("#metric-text")
    assert "Jaccard [%]" in browser.text("#metric-scatter")
    browser.choose("#metric-set", "one")
    assert browser.script(dots) == 12
    assert browser.complaints() == []


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a board of thirty teams, most of whose results look wrong."""
    folder = tmp_path_factory.mktemp("thirty")
    out = run("leaderboard", make_board(folder / "teams"), "--report", folder / "pages")
    assert out.returncode == 0, out.stderr
    return folder / "pages"


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_winner_is_on_the_first_screen_though_most_results_look_wrong(
    emulated: Browser, thirty: Path, width: int, height: int
) -> None:
    emulate(emulated, width, "light", height=height)
    emulated.open(thirty / "index.html")
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    for part in ("h1", "[data-name=ranks] tbody tr:nth-child(3)"):
        assert visible(emulated, part) and emulated.script(bottom, part) <= height, part
    assert emulated.text("h1").endswith("team07 (suspect)")
    sign = "return getComputedStyle(document.querySelector('[data-name=ranks] .flagged'), '::after').content"
    assert emulated.script(sign) == '" !"'
    assert emulated.text("#doubtful summary") == "36 of 54 results look wrong"
    assert not visible(emulated, "#doubtful li")
    emulated.picture(f"thirty-{width}")
    emulated.script("document.querySelector('#doubtful').scrollIntoView({block: 'center'})")
    emulated.element("#doubtful summary").click()
    assert visible(emulated, "#doubtful li") and "one, team10: x and y are exchanged" in emulated.text("#doubtful")
    boxes = "return [...document.querySelectorAll('#places .scroll')].map(e => [e.scrollHeight - e.clientHeight,"
    for hidden, cut in emulated.script(f"{boxes} e.scrollWidth - e.clientWidth])"):
        assert hidden <= 20 and (cut <= 0 or width < 1400)  # a bar to scroll sideways has a height


def test_the_best_of_many_are_on_the_page_of_a_data_set(emulated: Browser, thirty: Path) -> None:
    emulate(emulated, 390, "light", height=844)
    emulated.open(thirty / "datasets" / "one.html")
    assert emulated.text("h1") == "Best of 27: team07 (suspect)"
    assert "The 8 best of 27 programs are on this page." in emulated.text("main")
    assert visible(emulated, "#value") and "4 of 8 results look wrong" in emulated.text("#doubtful summary")


def test_a_challenge_tells_what_was_seen_run_and_concluded(browser: Browser, challenge: Path) -> None:
    browser.open(challenge)
    assert "Too few methods to say" in browser.text(".verdict-line:last-of-type") or "claim" in browser.text("main")
    assert browser.script("return document.querySelectorAll('#agreement img').length") == 2
    assert browser.script("return [...document.querySelectorAll('#agreement img')].every(i => i.naturalWidth > 200)")
    assert "ER1.N3.LD, frame" in browser.text("#samples") and "MT4.N2.HD, frame" in browser.text("#samples")
    image = pixels(browser, "#sample-0")
    assert image.std() > 10 and count_of(image, "#ff70f8") > 20  # the spots, and rings of the truth
    assert column(browser, "runs", 0) == ["dog", "log", "dog-tuned"], "log kept its defaults"
    browser.element("#runs summary").click()
    settings = set(zip(column(browser, "settings", 0), column(browser, "settings", 2), strict=True))
    plain, tuned = ({text for name, text in settings if name == wanted} for wanted in ("dog", "dog-tuned"))
    assert all("threshold" in text for text in plain) and tuned - plain
    assert len(column(browser, "settings", 0)) == 4, "tuned settings are told for each data set"
    assert [name for name, text in settings if "tuning kept them" in text] == ["log"]
    assert column(browser, "brought", 1) == ["dog"] * 2


def test_a_challenge_has_a_page_for_each_data_set_with_its_images(browser: Browser, challenge: Path) -> None:
    browser.open(challenge)
    browser.script("arguments[0].click()", browser.element("#places p a"))
    browser.wait(lambda: "datasets/ER1.N3.LD.html" in browser.driver.current_url, "its page is open")
    browser.wait(lambda: browser.script("return document.documentElement.dataset.ready") == "yes", "it is ready")
    assert browser.text("h1").startswith("Best of 3")
    assert browser.element("#frame-a").get_attribute("data-image") == "yes"
    assert pixels(browser, "#frame-a").std() > 10 and not browser.element("#contrast-label").get_attribute("hidden")
    assert browser.complaints() == []


# Definitions


@pytest.mark.parametrize("name", ["demo", "score", "board"])
def test_every_metric_is_defined_in_the_drawer(browser: Browser, name: str, request: pytest.FixtureRequest) -> None:
    browser.open(request.getfixturevalue(name))
    assert not visible(browser, "#drawer")
    browser.element("#open-drawer").click()
    assert visible(browser, "#drawer")
    text = browser.text("#drawer")
    for metric in METRICS.values():
        assert metric.heading in text and metric.meaning in text and metric.equation in text
    assert "How to read this page" in text
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert not visible(browser, "#drawer")


def test_names_of_metrics_explain_themselves(browser: Browser, score: Path) -> None:
    browser.open(score)
    ActionChains(browser.driver).move_to_element(browser.element(".tiles .term")).perform()
    assert "share of the molecules that are matched; higher is better\nTP / (TP + FN)" in visible_tip(browser)
    ActionChains(browser.driver).move_to_element(browser.element("h1")).perform()
    assert visible_tip(browser) == ""
    browser.script("document.querySelectorAll('.tiles .term')[2].focus()")
    assert visible_tip(browser).startswith("RMSE lateral [nm]: root mean square error in the plane")


@pytest.mark.parametrize("name", PAGES)
def test_the_contents_stay_in_sight(browser: Browser, name: str, request: pytest.FixtureRequest) -> None:
    browser.open(request.getfixturevalue(name))
    browser.script("document.getElementById('method').scrollIntoView()")
    assert visible(browser, ".bar nav a")
    links = browser.script("return [...document.querySelectorAll('.bar nav a')].map(a => a.getAttribute('href'))")
    assert browser.script("return arguments[0].every(link => document.querySelector(link))", links) and len(links) > 4


# Plots that can't fool


def test_constant_values_are_told_and_not_drawn(browser: Browser, tmp_path: Path) -> None:
    truth = {"frame": np.arange(1, 41), "x": np.linspace(0, 4000, 40), "y": np.linspace(0, 900, 40)}
    page = tmp_path / "same.html"
    fm.score(truth, dict(truth, x=truth["x"] + 5.0), check=False).report(page)
    browser.open(page)
    assert "dx: 5.00 nm for every molecule; dy: 0.00 nm for every molecule" in browser.text("#errors-axes")
    assert "all 40 errors lie in one place" in browser.text("#errors-a-core")
    assert "true molecules in the frame is 1 everywhere" in browser.text("#bins-density")
    assert browser.complaints() == []


def test_core_and_tails_of_the_errors_are_both_seen(browser: Browser, score: Path) -> None:
    browser.open(score)
    reach = (
        "return [...document.querySelectorAll(arguments[0] + ' g[aria-label^=\"x-axis tick label\"] text')]"
        ".map(t => Math.abs(Number(t.textContent.replace('\u2212', '-'))))"
    )
    core, whole = (max(browser.script(reach, f"#errors-a-{name}")) for name in ("core", "all"))
    assert core < 100 <= whole
    size = """
        const svg = [...document.querySelectorAll('#errors-a-all svg')].pop();
        const box = svg.querySelector('[aria-label=frame]').getBoundingClientRect();
        return box.width / box.height;
    """
    assert browser.script(size) == pytest.approx(1, abs=0.05)  # dx and dy are lengths of one kind


def test_a_blind_border_is_seen_at_once_in_the_field(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = {
        "frame": rng.integers(1, 200, 20_000),
        "x": rng.uniform(0, 6400, 20_000),
        "y": rng.uniform(0, 6400, 20_000),
    }
    inside = np.minimum.reduce([truth["x"], 6400 - truth["x"], truth["y"], 6400 - truth["y"]]) > 300
    page = tmp_path / "blind.html"
    fm.score(truth, {name: column[inside] for name, column in truth.items()}, check=False).report(page)
    browser.open(page)
    image = pixels(browser, "#field-a").mean(axis=2)
    height, width = image.shape
    left, right, top, bottom = seen(browser, "#field-a")

    def at(x: float, y: float) -> float:
        return float(image[int((y - top) / (bottom - top) * height), int((x - left) / (right - left) * width)])

    assert at(3200, 3200) > 230 and at(3200, 120) < 120 and at(120, 3200) < 120 and at(6280, 3200) < 120
    assert "% of them" not in browser.text("#field")
    browser.picture("blind")


def test_a_plus_is_missed_and_a_cross_is_false(browser: Browser, tmp_path: Path) -> None:
    truth = {"frame": [1, 1, 1], "x": [0.0, 3000.0, 6000.0], "y": [0.0, 3000.0, 6000.0]}
    pred = {"frame": [1, 1, 1], "x": [0.0, 6000.0, 3000.0], "y": [0.0, 6000.0, 5000.0]}
    page = tmp_path / "signs.html"
    fm.score(truth, pred, check=False).report(page)
    browser.open(page)
    image = pixels(browser, "#frame-a")
    left, right, top, bottom = seen(browser, "#frame-a")
    height, width, _ = image.shape
    for (x, y), color, straight in (((3000.0, 3000.0), "#ff8640", True), ((3000.0, 5000.0), "#ffc933", False)):
        i, j = round((y - top) / (bottom - top) * height), round((x - left) / (right - left) * width)
        around = image[i - 8 : i + 9, j - 8 : j + 9]
        arms = [count_of(around[[k], :][:, [8]], color) for k in (3, 13)]
        corners = [count_of(around[[k], :][:, [k]], color) for k in (4, 12)]
        assert (all(arms), all(corners)) == (straight, not straight)


def test_colours_are_those_of_the_figures() -> None:
    css = (resources.files("flatmetric.reports") / "assets" / "page.css").read_text(encoding="utf-8")
    for part, color in (("displaced", style.DISPLACED), ("missed", style.MISSED), ("false", style.FALSE)):
        assert re.findall(rf"--fill-{part}: (#\w+);", css) == [color]


def test_an_outlier_does_not_blank_the_pictures(browser: Browser, tmp_path: Path) -> None:
    truth, pred = draw(np.random.default_rng(0), 40, 0.9, 10.0)
    page = tmp_path / "outlier.html"
    fm.score(truth, dict(pred, x=np.append(pred["x"][1:], 1e9)), check=False).report(page)
    browser.open(page)
    left, right, _, _ = seen(browser, "#picture-a")
    assert right - left < 4 * np.ptp(truth["x"])
    assert "1 detections lie outside" in browser.text("#picture-a-caption")
    assert (pixels(browser, "#picture-a").max(axis=2) > 100).sum() > 200


def test_light_from_outside_the_view_is_not_lost(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    place = np.repeat([[0.0, 0.0], [1000.0, 1000.0], [2000.0, 2000.0]], 20, axis=0)
    truth = {"frame": np.tile(np.arange(1, 21), 3), "x": place[:, 0], "y": place[:, 1]}
    error = rng.normal(0, 20, place.shape)
    page = tmp_path / "page.html"
    fm.score(truth, dict(truth, x=truth["x"] + error[:, 0], y=truth["y"] + error[:, 1]), check=False).report(page)
    browser.open(page)
    browser.element("input[name=layer][value=found]").click()
    for _ in range(12):
        browser.script("arguments[0].click()", browser.element("#picture-a [data-zoom=in]"))
    left, right, _, _ = seen(browser, "#picture-a")
    assert 100 < right - left < 400  # beyond the precision there is nothing to see
    browser.element("#picture-a canvas").send_keys(*[Keys.ARROW_RIGHT] * 4)
    assert seen(browser, "#picture-a")[0] > 1000  # the molecule in the middle is just outside now
    assert pixels(browser, "#picture-a")[200:400, :30].max() > 100
    assert browser.complaints() == []


def test_bars_of_frames_that_are_far_apart_can_be_seen(browser: Browser, tmp_path: Path) -> None:
    truth, pred = draw(np.random.default_rng(0), 40, 0.5, 10.0)
    page = tmp_path / "gaps.html"
    apart = {"frame": 1000 * truth["frame"]}, {"frame": 1000 * pred["frame"]}
    fm.score(truth | apart[0], pred | apart[1], check=False).report(page)
    browser.open(page)
    bars = "#series-a g[aria-label=rect] rect"
    widths = f"return [...document.querySelectorAll('{bars}')].map(bar => bar.getBoundingClientRect().width)"
    assert min(browser.script(widths)) > 1.5


def test_a_stack_that_does_not_fit_is_told(browser: Browser, tmp_path: Path) -> None:
    from flatmetric.stacks import write_stack

    small = tmp_path / "small.ome.tif"
    write_stack(small, [np.full((16, 16), 100, np.uint16)] * 80, frames=80, pixels=16, pixel_size=100.0)
    page = tmp_path / "page.html"
    fm.score(DATA / "demo_truth.csv", DATA / "demo_dog.csv", check=False).report(page, stack=small)
    browser.open(page)
    assert "molecules lie outside the camera image: check its pixel size, 100 nm." in browser.text("#frame-note")
    assert seen(browser, "#frame-a")[1] > 6000  # and they are in sight


@pytest.mark.parametrize("command", ["compare", "leaderboard"])
def test_long_names_are_wrapped(emulated: Browser, command: str, tmp_path: Path) -> None:
    folder = tmp_path / "d" / "results"
    folder.mkdir(parents=True)
    (tmp_path / "d" / "truth.csv").write_bytes((DATA / "demo_truth.csv").read_bytes())
    for name, source in (("x" * 120, "dog"), ("short", "baseline")):
        (folder / f"{name}.csv").write_bytes((DATA / f"demo_{source}.csv").read_bytes())
    files = [tmp_path] if command == "leaderboard" else [tmp_path / "d" / "truth.csv", *sorted(folder.iterdir())]
    out = run(command, *files, "--report", tmp_path / "page.html")
    assert out.returncode == 0, out.stderr
    emulate(emulated, 360, "light")
    emulated.open(tmp_path / "page.html")
    assert emulated.script("return document.documentElement.scrollWidth") <= 360
    assert cut_off(emulated) == []


def test_names_are_shown_as_text(browser: Browser, board: Path, tmp_path: Path) -> None:
    for page in (board, evil_score(tmp_path)):
        browser.open(page)
        assert browser.script("return document.querySelectorAll('img, iframe, object').length") == 0
        assert EVIL.replace("/", "") in browser.script("return document.body.innerText")
        assert browser.complaints() == []
        assert only_the_file(browser, page)


def evil_score(folder: Path) -> Path:
    truth, result = folder / "truth.csv", folder / f"{EVIL}.csv"
    truth.write_text("frame,x [nm],y [nm]\n1,0,0\n1,900,0\n2,5,5\n")
    result.write_text("frame,x [nm],y [nm]\n1,3,4\n")
    out = run("score", truth, result, "--report", folder / "page.html")
    assert out.returncode == 0, out.stderr
    return folder / "page.html"


def test_a_million_molecules(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "million.html"
    score = fm.score(*million())
    page.write_text(score_page(NamedScore("million", score, intervals_of(score)), "flatmetric score"), encoding="utf-8")
    assert page.stat().st_size < LARGEST
    browser.open(page)
    assert browser.complaints() == []
    assert only_the_file(browser, page)
    note = browser.text("#frame-note")
    assert note.startswith("Of 20000 frames the ") and "worst" in note
    assert "Counted in squares of" in browser.text("#picture-note")
    assert pixels(browser, "#picture-a").mean() > 20
    first = frame_shown(browser)
    browser.element("#next").click()
    assert frame_shown(browser) != first
    browser.picture("million")


def test_tables_are_saved_as_csv(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    browser.element("[data-name=ranking] button.csv").click()
    saved = browser.downloads / "ranking.csv"
    browser.wait(saved.exists, "the table is saved")
    lines = saved.read_text().splitlines()
    assert lines[0].startswith("program,Flat Metric [nm],Jaccard [%],recall")
    assert len(lines) == 3 and all(float(line.split(",")[1]) > 50 for line in lines[1:])


# Layout, colours, print


@pytest.fixture
def emulated(browser: Browser) -> Iterator[Browser]:
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (768, "light"), (1280, "light"), (2560, "dark")])
def test_nothing_is_cut_off_and_the_checker_has_no_complaint(
    emulated: Browser, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    emulate(emulated, width, scheme)
    emulated.open(request.getfixturevalue(name))
    assert emulated.script("return document.documentElement.scrollWidth") <= width
    assert cut_off(emulated) == []
    emulated.picture(f"{name}-{width}-{scheme}")
    if width in (360, 1280):
        assert violations(emulated) == []


def test_the_checker_sees_what_is_wrong(browser: Browser, score: Path) -> None:
    browser.open(score)
    browser.script("const e = document.querySelector('#previous'); e.removeAttribute('aria-label'); e.textContent = ''")
    assert any(text.startswith("button-name") for text in violations(browser, "#frames"))


@pytest.mark.parametrize("name", PAGES)
def test_print_is_a_clean_report_of_at_most_three_pages(
    emulated: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    emulate(emulated, 1000, "dark", media="print")
    emulated.open(request.getfixturevalue(name))
    for selector in (".bar", "button.csv", ".zoom", ".search"):
        found = "const e = document.querySelector(arguments[0]); return e ? getComputedStyle(e).display : 'none'"
        assert emulated.script(found, selector) == "none"
    assert emulated.script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heads = "return [...document.querySelectorAll('section:not(.unprinted) thead th')].every(h => h.innerText.trim())"
    assert emulated.script(heads)
    emulated.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    printed = base64.b64decode(emulated.driver.print_page())
    sheets = len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))
    assert 1 <= sheets <= 3 and len(printed) > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_tables_are_marked_up_and_headings_have_an_order(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    browser.open(request.getfixturevalue(name))
    assert browser.script("return [...document.querySelectorAll('table')].every(t => t.caption && t.tHead)")
    assert browser.script("return [...document.querySelectorAll('thead th')].every(h => h.scope === 'col')")
    assert browser.script("return document.documentElement.lang") == "en"
    levels = browser.script(
        "return [...document.querySelectorAll('main h1, main h2, main h3')].map(h => Number(h.tagName[1]))"
    )
    assert 1 in levels and all(b - a <= 1 for a, b in itertools.pairwise([1, *levels]))
