"""The board in a real browser, as an organiser and two teams use it; on a desk and on a phone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.reports.browser import Browser, start, violations
from tests.server.boards import PASSWORD, make_folder, result_rows, table, truth_rows
from tests.server.test_serve import Server, served

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
DESK = {"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": False}


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    (tmp_path / "downloads").mkdir()
    opened = start(tmp_path / "downloads")
    yield opened
    opened.driver.quit()


class Visit:
    """Somebody at the browser."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser, self.server = browser, server

    def go(self, path: str) -> None:
        self.browser.driver.get(path if path.startswith("http") else self.server.url + path)
        self.ready()

    def ready(self) -> None:
        ready = "return document.documentElement.dataset.ready === 'yes'"
        self.browser.wait(lambda: bool(self.browser.script(ready)), "the page is ready")

    def fill(self, **fields: str) -> None:
        for name, value in fields.items():
            field = self.browser.element(f"main [name={name}]")
            if field.tag_name == "select":
                Select(field).select_by_value(value)
            else:
                if field.get_attribute("type") != "file":
                    field.clear()
                field.send_keys(value)

    def press(self, words: str, then: str) -> None:
        """Press a button, and wait for a text on the page that follows."""
        found = f"//button[normalize-space()='{words}']"
        self.browser.script("arguments[0].click()", self.browser.driver.find_element(By.XPATH, found))
        self.sees(then)

    def sees(self, words: str) -> None:
        text = "return document.body ? document.body.textContent.replace(/\\s+/g, ' ') : ''"
        self.browser.wait(lambda: words in str(self.browser.script(text)), f"the page says {words!r}")
        self.ready()

    def check(self, name: str) -> None:
        """On a desk and on a phone: nothing that axe finds, nothing wider than the screen, nothing in the console."""
        for screen, metrics in (("desk", DESK), ("phone", PHONE)):
            self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            assert violations(self.browser) == [], (name, screen)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert self.browser.script(wide) <= 1, (name, screen)
            self.browser.picture(f"web-{name}-{screen}")
        self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", DESK)

    def register(self, name: str) -> None:
        self.go("/register")
        self.fill(name=name, password=PASSWORD)
        self.press("Register", "None yet")

    def log_in(self, name: str) -> None:
        self.browser.driver.delete_all_cookies()
        self.go("/login")
        self.fill(name=name, password=PASSWORD)
        self.press("Log in", name)

    def upload(self, path: Path) -> None:
        self.go("/submit")
        self.fill(file=str(path))
        self.press("Upload", "Read the file in another way")


def write(path: Path, rows: Any, **more: Any) -> Path:
    path.write_bytes(table(rows, **more))
    return path


def test_a_challenge_from_its_opening_to_its_archive(tmp_path: Path, browser: Browser) -> None:
    with served(make_folder(tmp_path / "b")) as server:
        assert server.process.stdout is not None
        link = server.process.stdout.readline().split()[-1]
        me = Visit(browser, server)
        me.go(link)
        me.fill(name="Olga", password=PASSWORD)
        me.check("link")
        me.press("Register", "Queue:")
        me.check("organiser")
        browser.driver.delete_all_cookies()

        me.register("Ann")
        me.upload(write(tmp_path / "pixels.csv", result_rows(20), unit=100, header="frame,x,y"))
        me.sees("not in nm")
        me.check("preview")
        me.fill(unit="px", pixel_size="100")
        me.press("Look again", "Hand in")
        me.fill(program="spots", note="first try")
        me.press("Hand in", "handed in")
        me.sees("place 1 on the board")  # the page follows by itself
        me.check("result")
        me.go("/submissions")
        me.check("history")
        me.go("/account")
        me.fill(label="laptop")
        me.press("Make a token", "shown this once")
        me.check("account")
        browser.driver.delete_all_cookies()

        me.register("Bob")
        other = truth_rows(seed=7)
        me.upload(write(tmp_path / "bob.csv", result_rows(40)))
        me.fill(program="peaks")
        me.press("Hand in", "handed in")
        me.sees("place 2 on the board")
        me.go("/")
        assert browser.text("#boards tbody tr:nth-child(1) th").strip().startswith("spots (Ann)")
        me.check("board")
        browser.element("details summary").click()
        me.check("curves")
        me.go("/entries/1")
        me.check("entry")
        me.go("/rules")
        me.check("rules")

        me.log_in("Olga")
        me.go("/organiser")
        me.fill(dataset="MT1", file=str(write(tmp_path / "truth.csv", other)))
        me.press("Upload the truth", "the truth of MT1 was replaced")
        me.fill(reason="it was that of another movie")
        browser.script(
            "document.querySelector('form[action=\"/organiser/apply\"] input[name=reason]').value = 'a new truth'"
        )
        me.press("Apply, and score again", "Queue:")
        browser.wait(lambda: _published(me) == 2, "the new version is published")
        me.check("changes")
        me.go("/organiser")
        browser.element("form[action='/organiser/close'] button").click()
        browser.driver.switch_to.alert.accept()
        me.go("/")
        browser.wait(lambda: _closed(me), "the board is closed")
        me.go("/organiser/log")
        me.check("log")
        me.go("/organiser")
        browser.driver.find_element(By.LINK_TEXT, "Everything").click()
        archive = browser.downloads / "board-whole.zip"
        browser.wait(archive.is_file, "the archive has come")
        assert "data/MT1/truth.csv" in zipfile.ZipFile(archive).namelist()
        assert browser.complaints() == []


def _published(me: Visit) -> int:
    me.go("/changes")
    return len(me.browser.driver.find_elements(By.CSS_SELECTOR, "section"))


def _closed(me: Visit) -> bool:
    me.go("/")
    return "Closed " in me.browser.text("main")
