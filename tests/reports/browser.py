"""A headless Chromium: what it logs, what it asks for, and pictures of what it shows."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

SCREENSHOTS = Path(__file__).parent / "screenshots"
_PATIENCE_S = 600.0  # the machine may be busy


class Browser:
    """One page at a time, from a file."""

    def __init__(self, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,1000"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(_PATIENCE_S)
        self.driver.set_script_timeout(_PATIENCE_S)
        self.downloads = downloads
        behaviour = {"behavior": "allow", "downloadPath": str(downloads)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)

    def open(self, page: Path) -> None:
        """Load a page and wait until its script is done."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.resolve().as_uri())
        self.wait(lambda: self.script("return document.documentElement.dataset.ready") == "yes", "the page is ready")

    def first_paint_s(self) -> float:
        """Seconds from asking for the page to the first thing that a person sees."""
        code = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
        return float(self.script(code)) / 1000

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def element(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(self.script("return document.querySelector(arguments[0]).textContent", selector))

    def choose(self, selector: str, value: str) -> None:
        """Pick an option of a select as a person does."""
        code = (
            "const s = document.querySelector(arguments[0]);"
            "s.value = arguments[1]; s.dispatchEvent(new Event('change'));"
        )
        self.script(code, selector, value)

    def wait(self, done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not done():
            assert time.monotonic() < end, f"waited in vain until {what}"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """What the page wrote to the console as errors or warnings."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def picture(self, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


def start(downloads: Path) -> Browser:
    """A browser, or a loud skip; an error where one is required."""
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return Browser(downloads)
    sentence = "NO BROWSER: install chromium and chromium-driver to test the pages"
    if os.environ.get("FLATMETRIC_BROWSER") == "required":
        raise RuntimeError(sentence)
    pytest.skip(sentence)


def violations(browser: Browser, part: str = "html") -> list[str]:
    """What axe-core finds wrong for people who see badly or use the keyboard or a screen reader."""
    axe = resources.files("axe_core_python") / "axe.min.js"
    browser.script(axe.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(arguments[0], {resultTypes: ['violations'], preload: false}).then(r => done(r.violations));",
        part,
    )
    return [f"{one['id']}: {node['html'][:200]} {node['any']}" for one in found for node in one["nodes"]]


def only_the_file(browser: Browser, page: Path) -> bool:
    """Whether a page asked for nothing but itself."""
    own = page.resolve().as_uri()
    asked = browser.requests()
    return bool(asked) and all(url.split("#")[0] == own or url.startswith(("data:", "blob:")) for url in asked)


def emulate(browser: Browser, width: int, scheme: str, media: str = "", height: int = 800) -> None:
    """Show pages in a window of this width, in light or dark colours."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def cut_off(browser: Browser) -> list[str]:
    """Elements that reach beyond the window, other than in places that scroll inside themselves."""
    code = """
        const beyond = [];
        for (const e of document.querySelectorAll('main *')) {
            if (e.closest('.scroll, nav, svg, .skip, pre') && !e.matches('.scroll, svg')) continue;
            const box = e.getBoundingClientRect();
            if (box.width && (box.right > innerWidth + 1 || box.left < -1)) beyond.push(e.outerHTML.slice(0, 120));
        }
        return beyond;
    """
    return list(browser.script(code))
