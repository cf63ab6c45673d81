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
OPTIONS: dict[str, Any] = {
    "runOnly": {"type": "tag", "values": list(TAGS)},
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations", "incomplete"],
    "selectors": False,
    "preload": False,  # of style sheets and films, for rules about films
}
# Where axe-core cannot decide and a person has: its rule and reason, and what is meant. Anything else is a fault.
REVIEWED = {
    "color-contrast nonBmp": "signs of formulas and icons, in the colour of the text beside them",
    "color-contrast shortTextContent": "single letters of formulas, charts and tables, in the colour of longer ones",
    "color-contrast imgNode": "words within a chart, whose own ground is the page's",
    "color-contrast pseudoContent": "beside a badge, a line or a ring that is drawn by the style sheet",
    "color-contrast elmPartiallyObscured": "what is scrolled half out of the talk, or below the head",
    "color-contrast bgOverlap": "an option that is scrolled behind the foot of its form",
    "color-contrast elmPartiallyObscuring": "what lies over another part of the page: the dialog, a long answer",
    "color-contrast": "the numbers of the editor's lines",
    "aria-valid-attr-value controlsWithinPopup": "the editor's text, which controls the list of its completions",
    "frame-tested": "the frame in which a session is replayed: screens of participants, looked at where they are",
}
# Roles that tell somebody nothing without a name.
NAMED = re.compile(
    "alertdialog|article|button|checkbox|combobox|dialog|heading|link|listbox|log|navigation|option|progressbar"
    "|radio|radiogroup|region|slider|spinbutton|tab|textbox"
)
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


# Look at a page in one look of this run's, or in all.
Audit = Callable[[Page], None]
LOOKS = tuple(Look(*one) for one in product(("light", "dark"), (1280, 360, 320)))  # type: ignore[arg-type]


def faults(page: Page, contrast: bool = True) -> list[str]:
    """What axe-core says is broken or cannot decide, what has no name, and whether the page scrolls sideways."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    rules = {**OPTIONS["rules"], "color-contrast": {"enabled": contrast}}
    found = page.evaluate(RUN, {**OPTIONS, "rules": rules})
    wide = page.evaluate(TOO_WIDE)
    undecided = sorted({reason for one in found["incomplete"] for reason in _undecided(one)} - set(REVIEWED))
    return [
        *_lines(found["violations"]),
        *(f"to be looked at: {reason}" for reason in undecided),
        *([f"{wide} px too wide"] if wide > 0 else []),
        *nameless(page),
    ]


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


def _undecided(one: dict[str, Any]) -> Iterator[str]:
    """Why a rule could not decide, for each place where it could not."""
    for node in one["nodes"]:
        data = [check["data"] for kind in ("any", "all", "none") for check in node[kind]]
        keys = [str(found["messageKey"]) for found in data if isinstance(found, dict) and found.get("messageKey")]
        yield " ".join((one["id"], *keys))


def _lines(violations: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in violations:
        for node in one["nodes"]:
            why = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
            yield f"{one['id']}: {' '.join(node['html'].split())[:160]} ({'; '.join(why)[:200]})"
