"""The pages in a real browser: they load, answer to hand and keyboard, fetch nothing, and show names as text."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import flatmetric as fm
from flatmetric.pages.score_page import Scored, score_page
from tests.pages.browser import Browser, start
from tests.scenes import draw, million, run

EVIL = "<img src=x onerror=alert(1)>"
LARGEST = 8_000_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = start(tmp_path_factory.mktemp("downloads"))
    yield opened
    opened.driver.quit()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("demo") / "demo.html"
    out = run("demo", "--out", page)
    assert out.returncode == 0, out.stderr
    return page


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pandas as pd

    folder = tmp_path_factory.mktemp("board")
    for seed, dataset in enumerate(("one", "two")):
        (folder / dataset / "results").mkdir(parents=True)
        for name, quality, error in (("good", 0.95, 10.0), ("fair", 0.8, 30.0), (EVIL, 0.5, 60.0)):
            truth, pred = draw(np.random.default_rng(seed), 60, quality, error)
            pd.DataFrame(truth).to_csv(folder / dataset / "truth.csv", index=False)
            pd.DataFrame(pred).to_csv(folder / dataset / "results" / f"{name}.csv", index=False)
    (folder / "two" / "results" / "broken.csv").write_text("nothing")
    out = run("leaderboard", folder, "--report", folder / "board.html")
    assert out.returncode == 0, out.stderr
    return folder / "board.html"


def only_the_file(browser: Browser, page: Path) -> bool:
    own = page.resolve().as_uri()
    asked = browser.requests()
    return bool(asked) and all(url.split("#")[0] == own or url.startswith(("data:", "blob:")) for url in asked)


def frame_shown(browser: Browser) -> int:
    found = re.match(r"Frame (\d+) ", browser.text("#frame-text"))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("name", ["demo", "board"])
def test_pages_load_without_a_word_and_fetch_nothing(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    page: Path = request.getfixturevalue(name)
    browser.open(page)
    assert page.stat().st_size < LARGEST
    assert browser.script("return document.querySelectorAll('.chart .main-svg').length") >= 2
    assert browser.complaints() == []
    assert only_the_file(browser, page)
    browser.picture(name)


def test_slider_buttons_and_keys_move_the_frame(browser: Browser, demo: Path) -> None:
    browser.open(demo)
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
    assert browser.complaints() == []


def test_the_frames_come_worst_first(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    costs = []
    for _ in range(5):
        found = re.search(r"costs ([\d.]+) nm", browser.text("#frame-text"))
        assert found is not None
        costs.append(float(found[1]))
        browser.element("#next").click()
    assert costs == sorted(costs, reverse=True) and costs[0] > costs[-1]


def hover_text(browser: Browser, chart: str, trace: str) -> str:
    """What shows when the mouse is over the first mark of a trace."""
    code = """
        const place = document.getElementById(arguments[0]);
        place.scrollIntoView({block: 'center'});
        const k = place._fullData.findIndex(t => t.name === arguments[1]);
        const axes = place._fullLayout, box = place.querySelector('.nsewdrag').getBoundingClientRect();
        const t = place.data[k];
        return [box.x + axes.xaxis.d2p(t.x[0]), box.y + axes.yaxis.d2p(t.y[0])];
    """
    x, y = browser.script(code, chart, trace)
    moves = ActionChains(browser.driver)
    moves.w3c_actions.pointer_action.move_to_location(int(x) - 30, int(y) - 30)
    moves.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    moves.perform()
    shown = f"#{chart} .hoverlayer .hovertext"
    browser.wait(lambda: bool(browser.script("return document.querySelector(arguments[0])", shown)), "the hover shows")
    return browser.text(shown)


def test_hover_shows_the_molecule_its_cost_and_its_partner(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    text = hover_text(browser, "frame-map", "truth")
    assert "row" in text and "costs" in text and "partner" in text and "photons" in text
    browser.picture("hover")


def test_the_program_can_be_changed(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    before = browser.text("#errors-text")
    browser.choose("select.program", "1")
    assert browser.text("#errors-text") != before
    assert browser.script("return document.querySelectorAll('.of-program:not([hidden])').length") >= 3
    browser.script("document.querySelector('input[name=layer][value=false]').click()")
    assert browser.complaints() == []


def test_numbers_on_the_page_are_those_of_the_score(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    data = Path(fm.__file__).parent / "data"
    truth, pred = fm.read(data / "demo_truth.csv"), fm.read(data / "demo_baseline.csv")
    score = fm.score(truth, pred)
    assert isinstance(score.flat_metric.value, float)
    assert f"{score.flat_metric.value:.2f} (" in browser.text("[data-name=ranking] tbody tr td")
    content = json.loads(browser.text("#content"))
    frames = content["programs"][0]["frames"]
    assert frames["total"] == len(frames["shown"]) == 80
    total = sum(frame["cost"] for frame in frames["shown"])
    assert total / len(truth) == pytest.approx(score.flat_metric.value, abs=0.01)
    first = frames["shown"][0]
    for i, j in enumerate(first["truth"]["partner"]):
        if j >= 0:
            away = [first["truth"][axis][i] - first["pred"][axis][j] for axis in "xy"]
            gap = np.hypot(*away)
            assert gap == pytest.approx(first["truth"]["cost"][i], abs=0.2)


def test_tables_are_saved_as_csv(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    browser.element("[data-name=budget] button.csv").click()
    saved = browser.downloads / "budget.csv"
    browser.wait(saved.exists, "the table is saved")
    lines = saved.read_text().splitlines()
    assert lines[0] == "program,Flat Metric [nm],displaced [nm],missed [nm],false [nm]"
    assert len(lines) == 3


def column(browser: Browser, name: str, at: int) -> list[str]:
    code = "return [...document.querySelectorAll(arguments[0])].map(row => row.children[arguments[1]].textContent)"
    return list(browser.script(code, f"[data-name={name}] tbody tr", at))


def test_sorting_sorts(browser: Browser, board: Path) -> None:
    browser.open(board)
    button = browser.script("return document.querySelectorAll('[data-name=results] button.sort')[4]")
    browser.script("arguments[0].click()", button)
    values = [float(text) for text in column(browser, "results", 4)]
    assert values == sorted(values) and len(values) == 6
    browser.script("arguments[0].click()", button)
    assert [float(text) for text in column(browser, "results", 4)] == values[::-1]
    assert browser.script("return arguments[0].closest('th').getAttribute('aria-sort')", button) == "descending"
    browser.script("document.querySelectorAll('[data-name=results] button.sort')[0].click()")
    names = column(browser, "results", 0)
    assert names.index("fair") < names.index("good")


def test_any_two_programs_are_compared(browser: Browser, board: Path) -> None:
    browser.open(board)
    browser.choose("#pair-a", "fair")
    browser.choose("#pair-b", "good")
    code = "return [...document.querySelectorAll('#pair-table tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    rows = browser.script(code)
    assert [row[0] for row in rows] == ["one", "two"]
    assert all(float(row[1]) > 0 and row[3].startswith("good is better than fair by") for row in rows)
    browser.choose("#pair-b", "fair")
    assert browser.text("#pair-text") == "Pick two different programs."


def test_any_metric_against_any_other(browser: Browser, board: Path) -> None:
    browser.open(board)
    browser.choose("#metric-x", "flat_metric")
    browser.choose("#metric-y", "jaccard")
    assert "Spearman over all results: -" in browser.text("#metric-text")
    assert browser.script("return document.getElementById('metric-scatter').layout.yaxis.title.text") == "Jaccard [%]"
    browser.choose("#metric-set", "one")
    assert browser.script("return document.getElementById('metric-scatter').data.length") == 1
    assert browser.complaints() == []


def test_names_are_shown_as_text(browser: Browser, board: Path, tmp_path: Path) -> None:
    for page in (board, evil_score(tmp_path)):
        browser.open(page)
        assert browser.script("return document.querySelectorAll('img, iframe, object').length") == 0
        assert EVIL in browser.script("return document.body.innerText")
        assert browser.complaints() == []
        assert only_the_file(browser, page)
    browser.open(board)
    labels = browser.script("return [...document.querySelectorAll('#ranks .ytick text')].map(t => t.textContent)")
    assert EVIL in labels


def evil_score(folder: Path) -> Path:
    truth, result = folder / "truth.csv", folder / f"{EVIL}.csv"
    truth.write_text("frame,x [nm],y [nm]\n1,0,0\n1,900,0\n2,5,5\n")
    result.write_text("frame,x [nm],y [nm]\n1,3,4\n")
    out = run("score", truth, result, "--report", folder / "page.html")
    assert out.returncode == 0, out.stderr
    return folder / "page.html"


def test_a_million_molecules(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "million.html"
    page.write_text(score_page(Scored("million", fm.score(*million())), "flatmetric score"), encoding="utf-8")
    assert page.stat().st_size < LARGEST
    browser.open(page)
    assert browser.complaints() == []
    assert only_the_file(browser, page)
    note = browser.text("#frame-note")
    assert note.startswith("Of 20000 frames the ") and "worst" in note
    assert "squares of" in browser.text("#field-note")
    first = frame_shown(browser)
    browser.element("#next").click()
    assert frame_shown(browser) != first
    browser.picture("million")


def emulate(browser: Browser, width: int, scheme: str, media: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def emulated(browser: Browser) -> Iterator[Browser]:
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", ["demo", "board"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1200, "dark")])
def test_pages_are_readable_on_phones_and_in_the_dark(
    emulated: Browser, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    emulate(emulated, width, scheme)
    emulated.open(request.getfixturevalue(name))
    assert emulated.script("return document.documentElement.scrollWidth") <= width
    assert min(contrasts(emulated).values()) >= 4.5
    emulated.picture(f"{name}-{width}-{scheme}")


def contrasts(browser: Browser) -> dict[str, float]:
    """Contrast of every kind of text with what lies behind it."""
    code = """
        const found = {};
        const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
            if (!/rgba\\(.*, 0\\)|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
        const texts = 'h1, h2, p, a, td, th, caption, button, label, legend, summary, code, select';
        for (const e of document.querySelectorAll(texts))
            found[getComputedStyle(e).color + '|' + behind(e)] = e.tagName + '.' + e.className;
        return found;
    """
    pairs: dict[str, str] = browser.script(code)
    return {f"{what} {pair}": contrast(*pair.split("|")) for pair, what in pairs.items()}


def contrast(front: str, back: str) -> float:
    def luminance(text: str) -> float:
        channels = [int(c) / 255 for c in re.findall(r"\d+", text)[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    low, high = sorted((luminance(front), luminance(back)))
    return (high + 0.05) / (low + 0.05)


def test_the_print_has_no_controls(emulated: Browser, demo: Path) -> None:
    emulate(emulated, 1000, "light", media="print")
    emulated.open(demo)
    for selector in ("nav", ".controls", "button.csv"):
        assert (
            emulated.script("return getComputedStyle(document.querySelector(arguments[0])).display", selector) == "none"
        )
    emulated.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert len(emulated.driver.print_page()) > 10_000


@pytest.mark.parametrize("name", ["demo", "board"])
def test_controls_have_names_and_tables_are_marked_up(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    browser.open(request.getfixturevalue(name))
    nodes: list[dict[str, Any]] = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = ("button", "slider", "combobox", "radio", "link", "img")
    controls = [n for n in nodes if n.get("role", {}).get("value") in roles]
    assert len(controls) > 10
    nameless = [n for n in controls if not n.get("ignored") and not n.get("name", {}).get("value")]
    assert nameless == []
    assert browser.script("return [...document.querySelectorAll('table')].every(t => t.caption && t.tHead)")
    assert browser.script("return [...document.querySelectorAll('thead th')].every(h => h.scope === 'col')")
    assert browser.script("return document.documentElement.lang") == "en"
    levels = browser.script("return [...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))
