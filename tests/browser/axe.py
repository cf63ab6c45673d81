"""What is wrong with a page for those who see little, hear it read out, or use no mouse; said as lines one can act on.

axe-core comes with axe-playwright-python and is put into the page by the browser's debugger, to which a page's
Content-Security-Policy does not apply: the page under test keeps its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN = "(options) => axe.run(document, options)"
OPTIONS = {
    "runOnly": {"type": "tag", "values": list(TAGS)},
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
}
NAMED = re.compile(
    "alertdialog|article|button|checkbox|combobox|dialog|heading|link|listbox|log|navigation|option|progressbar"
    "|radio|radiogroup|region|slider|spinbutton|tab|textbox"
)
"""Roles that tell somebody nothing without a name."""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass(frozen=True)
class Look:
    """How somebody has set up their screen."""

    scheme: Literal["light", "dark"]
    width: int

    def __str__(self) -> str:
        return f"{self.scheme} {self.width}"

    def put_on(self, page: Page) -> None:
        """Show the page so."""
        page.emulate_media(color_scheme=self.scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": self.width, "height": 800})


Audit = Callable[[Page, int], None]
"""Look at a page in the look whose turn it is."""
LOOKS = tuple(Look(*one) for one in product(("light", "dark"), (1280, 360, 320)))  # type: ignore[arg-type]


def faults(page: Page) -> list[str]:
    """What axe-core says is broken, and whether the page scrolls sideways."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, OPTIONS)
    wide = page.evaluate(TOO_WIDE)
    return [*_lines(found["violations"]), *([f"{wide} px too wide"] if wide > 0 else [])]


def nameless(page: Page) -> list[str]:
    """What a screen reader would meet there without a name: it reads the browser's own tree of the page."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [f"a {role} has no name" for node in nodes if NAMED.fullmatch(role := _role(node)) and not _name(node)]


def _role(node: dict[str, Any]) -> str:
    return "" if node["ignored"] else str(node["role"]["value"])


def _name(node: dict[str, Any]) -> str:
    return str(node.get("name", {}).get("value", "")).strip()


def _lines(violations: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in violations:
        for node in one["nodes"]:
            why = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
            yield f"{one['id']}: {' '.join(node['html'].split())[:160]} ({'; '.join(why)[:200]})"
