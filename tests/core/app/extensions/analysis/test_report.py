"""The report: all that was found is on one page that needs nothing else, and in its other forms; what people wrote is
shown as text and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.chatbench.published import PublishedFigure as Printed
from app.extensions.analysis.chatbench.published import PublishedPaper, published_paper
from app.extensions.analysis.estimates import estimate
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.report import FORMATS, as_csv, as_json, html
from app.extensions.analysis.report.build import grid
from app.extensions.analysis.results import about, patterns, unique_names
from tests.fakes.reports import NASTY, accuracy, by_turn, crossed, figure, finding, hostile, report

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


def test_without_the_package_for_charts_the_page_says_once_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = html(report(hostile(), by_turn()))
    assert page.count("parley-studies[charts]") == 1
    assert "<img" not in page
    assert "vl_convert" not in page, "no words of the machine"


def test_estimates_by_two_groups_are_one_table_with_all_their_numbers() -> None:
    cells = [(d, m) for d in ("physics", "moral") for m in ("one", "two")]
    estimates = [
        estimate(f"x.{d}.{m}", f"{d}, {m}", {"dataset": d, "model": m}, (n, 7), Interval(n / 10, 0, 0.9), "{}", "share",
                 "answers")
        for n, (d, m) in enumerate(cells, start=1)
    ]  # fmt: skip
    by_two = replace(finding("x.y", estimates), columns=("model",))
    table = grid(by_two)
    assert table is not None
    assert (table.heads, [row.label for row in table.rows]) == (("one", "two"), ["physics", "moral"])
    page = html(report(by_two))
    assert page.count('<td class="n cell"') == 4
    for text in ("10.0 %", "40.0 %", "n&nbsp;3"):
        assert text in page.split("</style>")[1]


PAPER = PublishedPaper(
    "paper",
    "A paper",
    {
        "chatbench.accuracy.physics.one.user-AI": Printed(0.55, 0.02, "Table 5"),
        "x.y": Printed(1, None, "Table 6"),
    },
)


@pytest.mark.parametrize("form", FORMATS)
def test_each_form_has_the_figure_its_interval_its_size_and_its_name(form: str) -> None:
    text = FORMATS[form](report(accuracy()))
    numbers = {"csv": ("0.5,0.4,0.6", "1200"), "json": ('"value": 0.5', '"n": 1200')}
    for part in (*numbers.get(form, ("40.0 to 60.0", "1,200")), "95 % interval"):
        assert part in text
    assert "user-AI" in text
    assert "By hand." in text or form == "csv"


def test_in_json_every_figure_is_found_by_its_name_in_full_precision() -> None:
    known = json.loads(as_json(report(hostile(), origin="pilot")))
    one = known["figures"]["arena.win_rate.x"]
    assert (one["value"], one["low"], one["high"], one["level"]) == (1 / 3, 0.25, 0.5, 0.95)
    assert (one["n"], one["counts"], one["participants"], one["unit"]) == (1200, "answers", 30, "share")
    assert one["groups"] == {"model": NASTY}
    assert one["about"]
    assert (known["pilot"], known["simulated"]) == (True, False)
    assert known["flow"]["outcomes"] == {"complete": 6, "no_consent": 1, "": 2}
    assert known["findings"][0]["figures"] == ["arena.win_rate.x"]
    assert "\n  " in as_json(report())


def test_the_csv_has_a_row_for_each_figure_and_nothing_that_a_spreadsheet_runs() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(report(hostile(), accuracy(), paper=PAPER)))))
    assert [row["name"] for row in rows] == ["arena.win_rate.x", *(one.name for one in accuracy().estimates)]
    assert float(rows[0]["value"]) == 1 / 3
    assert rows[0]["label"] == f"'{NASTY}"
    assert json.loads(rows[0]["groups"]) == {"model": NASTY}
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert sorted(row["published_value"] for row in rows)[-1] == "0.55"


def test_the_page_shows_what_people_wrote_as_text_in_its_drawings_too() -> None:
    cell = figure("chatbench.accuracy.d.m.user-AI", NASTY, Interval(0.5), dataset=NASTY, model=NASTY)
    drawings = (finding("chatbench.accuracy", [cell]), by_turn(), crossed([NASTY, "one"]))
    page = html(report(hostile(), *drawings, paper=PAPER))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    images = [b64decode(found) for found in re.findall(r"base64,([^\"]+)", page)]
    assert len(images) == 5  # four forests, and the points of one
    assert not [one for one in images if b"<script" in one]


def test_figures_of_the_same_name_are_compared() -> None:
    paper = published_paper("chatbench")
    assert paper.figures["chatbench.model_gap.gpt-4o.llama-3_1-8b.free_text"].value == 0.25
    names = [f"chatbench.accuracy.moral_scenarios.{model}.free_text" for model in ("gpt-4o", "other")]
    found = finding("chatbench.accuracy", [figure(name, "g", Interval(0.5, 0.4, 0.6)) for name in names])
    compared = report(found, paper=paper)
    assert [one.estimate.name for one in compared.compared] == names[:1]
    assert json.loads(as_json(compared))["against"]["compared"] == 1


NAMES = {"dices.alpha.<column>": "alpha", "dices.alpha.<column>.<group>": "by group", "dices.pearson.a_b": "r"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("dices.alpha.Q_overall", "alpha"),
        ("dices-990.alpha.Q_overall", "alpha"),
        ("dices.alpha.Q.x-y", "by group"),
        ("dices.pearson.a_b", "r"),
        ("dices.pearson.axb", ""),
        ("dices.alpha", ""),
    ],
)
def test_a_name_follows_its_pattern(name: str, wanted: str) -> None:
    assert about(name, NAMES) == wanted
    assert len(patterns(name, NAMES)) == bool(wanted)


@given(st.lists(st.tuples(st.sampled_from(["s", "t"]), st.sampled_from(["s.a", "s.a_2", "s.b", "t.a"]))))
def test_no_two_names_are_alike_however_they_come(pairs: list[tuple[str, str]]) -> None:
    found = list(unique_names(pairs))
    assert len(set(found)) == len(found) == len(pairs)
    for pair, name in zip(pairs, found, strict=True):
        if [other for other in pairs if other[1] == pair[1]] == [pair]:
            assert name == pair[1], "whoever is alone keeps its name"
