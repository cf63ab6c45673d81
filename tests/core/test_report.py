"""The report: everything that was found is on one page that needs nothing else, marked for what it is."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.estimates import EstimateGroup, Finding, Unit, estimate
from app.analysis.forest_plot import forest, ticked
from app.analysis.intervals import Interval
from app.analysis.report import html
from app.web.console.charts import spec
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
    groups = [EstimateGroup(f"x.y.{n}", f"group {n}", 1200 + n, 30, {}) for n, _ in enumerate(intervals)]
    estimates = [
        estimate(group, one, "It was {}", unit, "answers") for group, one in zip(groups, intervals, strict=True)
    ]
    return Finding("x.y", "A finding", "answers", unit, axis, tuple(estimates), "By hand.", "code()", reference=axis[0])


def test_the_page_is_whole_and_needs_nothing_from_elsewhere() -> None:
    page = html(report(hostile(), by_turn()))
    tags = Tags(page)
    assert tags.open == []
    assert not {tag for tag, _ in tags.seen} & {"script", "link", "img", "iframe", "object"}
    assert not [attributes for _, attributes in tags.seen if {"src", "onload", "onclick"} & attributes.keys()]
    ids = {attributes.get("id") for _, attributes in tags.seen}
    links = [attributes["href"] or "" for _, attributes in tags.seen if "href" in attributes]
    assert links
    assert {link.removeprefix("#") for link in links} <= ids, "links lead to places of the page itself"
    assert not re.search(r"url\(|@import|https?://", page)
    assert "@media print" in page


def test_without_data_there_is_no_figure_but_a_sentence() -> None:
    page = html(report())
    assert "<svg" not in page
    assert "nothing to estimate yet" in page


ends = st.floats(-1, 1)


@given(st.lists(st.tuples(ends, ends, ends).map(sorted), min_size=1, max_size=6))
def test_places_on_the_axis_keep_order_and_stay_on_it(triples: list[list[float]]) -> None:
    found = forest(finding(*[Interval(v, low, high) for low, v, high in triples], axis=(-0.5, 0.5)))
    for row in found.rows:
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low <= row.at <= row.high <= 100
    assert found.reference == 0


@given(st.floats(-1000, 1000), st.floats(0.001, 1000))
def test_ticks_are_round_in_order_and_within_the_axis(low: float, width: float) -> None:
    ticks = ticked((low, low + width))
    assert list(ticks) == sorted(set(ticks))
    assert 2 <= len(ticks) <= 8 or width < 1e-2
    assert all(low - 1e-6 * width - 1e-9 <= tick <= low + width * (1 + 1e-6) + 1e-9 for tick in ticks)


def test_the_chart_shows_what_the_table_says_and_asks_nobody_else() -> None:
    found = spec(finding(Interval(0.5, 0.25, 0.75), Interval(1, why="Too few.")))
    assert [(row["value"], row.get("low"), row.get("high"), row["n"]) for row in found["data"]["values"]] == [
        (50, 25, 75, "1,200"),
        (100, None, None, "1,201"),
    ]
    assert found["usermeta"]["embedOptions"]["actions"]["editor"] is False


@pytest.mark.parametrize("unit", ["share", "points", "number"])
def test_the_chart_is_what_vega_lite_allows(unit: Unit) -> None:
    found = spec(finding(Interval(0.5, 0.25, 0.75), Interval(1, why="Too few."), unit=unit))
    altair.LayerChart.from_dict({name: part for name, part in found.items() if name != "$schema"})
