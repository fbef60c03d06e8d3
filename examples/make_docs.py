"""Makes what the docs show: the table of metrics, the schema of a score, and pictures of the pages of the example.

Run from the repository, with chromium installed: python -m examples.make_docs
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import flatmetric as fm
from flatmetric.metrics.table import FAMILIES, family_schema, metrics_page
from tests.reports.browser import Browser

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "flatmetric" / "data"
PICTURES = ROOT / "docs" / "how-to" / "report"
TABLE = ROOT / "docs" / "reference" / "metrics.md"
SCHEMA = DATA / "score-1.schema.json"
SIZE = (1280, 830)
SHOWN = "Score"
"""The name of the text in a picture that says what it shows."""


def score_schema() -> str:
    """The schema of a score's JSON, with the families of metrics as the table has them."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    schema["properties"] |= {part: family_schema(part) for part in FAMILIES}
    in_bin = schema["properties"]["by"]["properties"]["bins"]["items"]["properties"]
    in_bin["challenge"] = family_schema("challenge", settings=False)
    return json.dumps(schema, indent=1) + "\n"


def main() -> None:
    """Write docs/reference/metrics.md, score-1.schema.json and the pictures in docs/how-to/report."""
    TABLE.write_text(metrics_page(), encoding="utf-8")
    SCHEMA.write_text(score_schema(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        score, comparison = Path(folder) / "score.html", Path(folder) / "comparison.html"
        truth, stack = DATA / "demo_truth.csv", DATA / "demo_stack.ome.tif"
        results = {name: DATA / f"demo_{name}.csv" for name in ("baseline", "dog")}
        first = fm.score(truth, results["baseline"])
        fm.report(first, score)  # as the first command of README and site does
        fm.report(fm.compare(truth, results), comparison, stack=stack)
        browser = Browser(Path(folder))
        window = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
        for page, section, name in ((score, "main", "first"), (comparison, "frames", "frames")):
            browser.open(page)
            browser.script("document.getElementById(arguments[0]).scrollIntoView()", section)
            if name == "frames":
                browser.choose("#enlarge", "3")
            time.sleep(1)
            shown = PngInfo()
            shown.add_text(SHOWN, repr(first))  # by which a test sees whether the picture is that of today
            with Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())) as picture:
                picture.save(PICTURES / f"{name}.png", pnginfo=shown, optimize=True)
        browser.driver.quit()


if __name__ == "__main__":
    main()
