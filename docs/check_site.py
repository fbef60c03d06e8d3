"""Every link within the built site leads to a page and an anchor that exist, and no page loads anything from elsewhere.

Run after the site is built: python docs/check_site.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of one element."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") != "canonical" and "href" in given:
            self.loads.add(given["href"])
        elif "src" in given:
            self.loads.add(given["src"])


def faults(site: Path) -> list[str]:
    """What is wrong, a line each."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    wrong = []
    for path, page in pages.items():
        for target in sorted(page.links | page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    wrong.append(f"{path}: loads {target}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                wrong.append(f"{path}: {target} does not exist")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                wrong.append(f"{path}: {target} has no such anchor")
    if not pages:
        wrong.append(f"{site}: has no pages")
    return wrong


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]))
    sys.exit("\n".join(found) if found else 0)
