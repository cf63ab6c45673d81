"""The report: everything that was found is on one page that needs nothing else, marked for what it is."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from app.extensions.analysis.estimates import Finding, Unit, estimate
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.report import html
from app.extensions.analysis.report.build import grid
from tests.fakes.reports import by_turn, hostile, report

VOID = {"meta", "br", "img", "link", "input", "hr", "col", "wbr"}


class Tags(HTMLParser):
    """The elements of a page, and whether each was closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def finding(*intervals: Interval, unit: Unit = "share", axis: tuple[float, float] = (0, 1)) -> Finding:
    estimates = [
        estimate(f"x.y.{n}", f"group {n}", {}, (1200 + n, 30), one, "It was {}", unit, "answers")
        for n, one in enumerate(intervals)
    ]
    return Finding("x.y", "A finding", "answers", unit, axis, tuple(estimates), "By hand.", "code()", reference=axis[0])


def test_the_page_is_whole_and_needs_nothing_from_elsewhere() -> None:
    page = html(report(hostile(), by_turn()))
    tags = Tags(page)
    assert tags.open == []
    assert not {tag for tag, _ in tags.seen} & {"script", "link", "iframe", "object"}
    assert not [attributes for _, attributes in tags.seen if {"onload", "onclick"} & attributes.keys()]
    images = [attributes["src"] or "" for tag, attributes in tags.seen if tag == "img"]
    assert images
    assert all(address.startswith("data:image/svg+xml;base64,") for address in images)
    ids = {attributes.get("id") for _, attributes in tags.seen}
    links = [attributes["href"] or "" for _, attributes in tags.seen if "href" in attributes]
    assert links
    assert {link.removeprefix("#") for link in links} <= ids, "links lead to places of the page itself"
    assert not re.search(r"url\(|@import|https?://", page)
    assert "@media print" in page


def test_estimates_by_two_groups_are_one_table_with_all_their_numbers() -> None:
    cells = [(d, m) for d in ("physics", "moral") for m in ("one", "two")]
    estimates = [
        estimate(f"x.{d}.{m}", f"{d}, {m}", {"dataset": d, "model": m}, (n, 7), Interval(n / 10, 0, 0.9), "{}", "share",
                 "answers")
        for n, (d, m) in enumerate(cells, start=1)
    ]  # fmt: skip
    by_two = replace(finding(Interval(0.5)), estimates=tuple(estimates), columns=("model",))
    table = grid(by_two)
    assert table is not None
    assert (table.heads, [row.label for row in table.rows]) == (("one", "two"), ["physics", "moral"])
    page = html(report(by_two))
    assert page.count('<td class="n cell"') == 4
    for text in ("10.0 %", "40.0 %", "n&nbsp;3"):
        assert text in page.split("</style>")[1]
