"""The report: everything that was found is on one page that needs nothing else, marked for what it is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.estimates import COUNT, EstimateGroup, Finding, Scatter, ScatterPoint, Unit, estimate
from app.analysis.forest_plot import forest, ticked
from app.analysis.intervals import Interval
from app.analysis.report import FORMATS, as_json, html, markdown
from app.analysis.report.arrangement import ReportFigure
from app.analysis.report.consort_flow import flow_stages
from app.analysis.report.grid import grid
from app.analysis.report.svg_scatter import scatter_chart
from app.web.console.charts import spec
from storage.reports.analysis_data import ParticipantFlow
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


@given(st.integers(1, 5_000))
def test_an_axis_of_counts_has_whole_numbers(most: int) -> None:
    ticks = ticked((0.0, float(most)), COUNT)
    assert all(tick.is_integer() for tick in ticks)
    assert len(ticks) >= 2


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


def scattered(*, margins: bool) -> Finding:
    points = [ScatterPoint(x / 4, y / 4, 1 + x, f"q{x}", "one" if y else "two") for x in range(5) for y in range(2)]
    scatter = Scatter("alone", "with it", (0, 1), tuple(points), margins)
    return replace(finding(Interval(0.5, 0.25, 0.75)), scatter=scatter)


@pytest.mark.parametrize("margins", [False, True])
def test_every_point_of_a_scatter_is_drawn_at_its_place(margins: bool) -> None:
    found = scattered(margins=margins)
    chart = scatter_chart(found)
    assert chart is not None
    (panel,) = chart.panels
    points = found.scatter.points if found.scatter else ()
    for axis in ("x", "y"):
        order = sorted(
            (getattr(point, axis), getattr(mark, axis)) for point, mark in zip(points, panel.marks, strict=True)
        )
        places = [place for _, place in order]
        assert places == sorted(places, reverse=axis == "y"), "up is more"
    assert bool(panel.bars) == margins
    assert all(0 <= mark.x <= chart.width and 0 <= mark.y <= chart.height for mark in panel.marks)
    page = html(report(found))
    assert page.count(' point"') == len(points)
    assert Tags(page).open == []
    assert len(json.loads(as_json(report(found)))["findings"][0]["scatter"]["points"]) == len(points)


def test_bars_beside_a_scatter_are_the_distributions_of_both_values() -> None:
    chart = scatter_chart(scattered(margins=True))
    assert chart is not None
    told = {bar.words for bar in chart.panels[0].bars}
    assert {"alone 0: 2", "alone 1: 10", "with it 0: 15", "with it 0.25: 15"} <= told


def test_the_flow_leaves_out_sessions_that_were_not_completed_unless_they_are_analysed() -> None:
    """Of 9 who started 6 completed, of whom a researcher excluded one, as well as one of the others."""
    people = ParticipantFlow("person", 9, "", {}, {"complete": 6, "": 3}, {"bot": 2}, {"bot": 1})
    known = replace(report(), flow=people)
    for unfinished, analysed, out in ((False, 5, 1), (True, 7, 2), (False, 3, 3)):
        found = replace(known, unfinished=unfinished, results=replace(known.results, analysed=analysed))
        started, completed, last = flow_stages(found)
        assert (started.number, completed.number, last.number) == (9, 6, analysed)
        assert last.out is not None
        assert last.out.number == out == sum(number for number, _ in last.out.items)
        assert json.loads(as_json(found))["flow"]["unfinished"] == unfinished


def test_estimates_by_two_groups_are_one_table_with_all_their_numbers() -> None:
    cells = [(d, m) for d in ("physics", "moral") for m in ("one", "two")]
    estimates = [
        estimate(EstimateGroup(f"x.{d}.{m}", f"{d}, {m}", n, 7, {"dataset": d, "model": m}), Interval(n / 10, 0, 0.9),
                 "{}", "share", "answers")
        for n, (d, m) in enumerate(cells, start=1)
    ]  # fmt: skip
    by_two = replace(finding(Interval(0.5)), estimates=tuple(estimates), columns=("model",))
    table = grid(ReportFigure("", (by_two,), ("",), folded=False))
    assert table is not None
    assert (table.heads, [row.label for row in table.rows]) == (("one", "two"), ["physics", "moral"])
    page = html(report(by_two))
    assert page.count('<td class="n cell"') == 4
    for text in ("10.0 %", "40.0 %", "n&nbsp;3"):
        assert text in page.split("</style>")[1]
    text = markdown(report(by_two))
    assert "| physics | 10.0 % (0.0 to 90.0 %), n 1 | 20.0 % (0.0 to 90.0 %), n 2 |" in text


@pytest.mark.parametrize("form", ["html", "md"])
def test_each_text_has_a_table_of_contents_whose_entries_lead_somewhere(form: str) -> None:
    text = FORMATS[form](report(by_turn(), hostile()))
    found = {
        "html": (r'href="#(topic[\w.]*)"', r'id="(topic[\w.]*)"'),
        "md": (r"\]\(#(topic[\w.]*)\)", r'<a id="(topic[\w.]*)">'),
    }[form]
    entries, places = (re.findall(pattern, text) for pattern in found)
    assert sorted(entries) == sorted(places)
    assert len(entries) == 2
