"""The tab Items in a browser: a table becomes items by the keyboard alone, and pictures are sent."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FileChooser, FrameLocator, expect

from app.studies.drafts import Drafts
from app.studies.pool_text import pools_in
from problems.pictures import MOST_BYTES
from tests.browser.axe import Audit
from tests.browser.researcher import AtConsole
from tests.fakes.pictures import drawn
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
STUDY = """study: {name}
title: Capitals
models: {{tutor: {{backend: scripted}}}}
flow:
  - {{each: question, of: questions, do: user-alone}}
  - {{step: finish}}
"""
HEAD = "Frage;eins;zwei;drei;Lösung;Kontinent\n"
ROWS = """Wie heißt die Hauptstadt von Australien?;Sydney;Canberra;Perth;Canberra;Ozeanien
Wie heißt die Hauptstadt von Brasilien?;Recife;Salvador;Brasília;Brasília;Amerika
Wie heißt die Hauptstadt von Kanada?;Ottawa;Toronto;Montréal;A;Amerika
"""
MAPPED = {"question": "Frage", "options": ["eins", "zwei", "drei"], "answer": "Lösung"}


@pytest.fixture
def drafts(console: Process) -> Drafts:
    return Drafts(console.folder / "studies")


def begin(ada: AtConsole, drafts: Drafts, name: str) -> None:
    """A draft that needs items, at its tab."""
    drafts.create(name, "arena")
    drafts.save(name, STUDY.format(name=name))
    ada.page.goto(f"{ada.url}/?study={name}&tab=studies")
    ada.reads("study-title", name)
    ada.open("Items")
    ada.quiet()


def table(name: str, text: str) -> dict[str, object]:
    return {"name": name, "mimeType": "text/csv", "buffer": text.encode()}


def choosing(ada: AtConsole, act: Callable[[], None]) -> FileChooser:
    with ada.page.expect_file_chooser() as chooser:
        act()
    return chooser.value


def page_of(ada: AtConsole) -> FrameLocator:
    return ada.page.frame_locator("#items-page iframe")


def test_by_keyboard(ada: AtConsole, drafts: Drafts) -> None:
    begin(ada, drafts, "by-keys")
    ada.quiet()
    keys, sent = ada.page.keyboard, list[str]()
    ada.page.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    ada.page.get_by_role("tab", name="Items").focus()

    def tab_to(selector: str) -> None:
        at = ada.page.locator(selector).first
        for _ in range(40):
            if at.evaluate("at => at === document.activeElement"):
                return
            keys.press("Tab")
        raise AssertionError(f"{selector} is not reached with Tab")

    def pick(part: str, *options: str) -> None:
        tab_to(f"#items-{part} input")
        for option in options:
            keys.type(option)
            expect(ada.page.get_by_role("option", name=re.compile(option))).to_have_count(1)
            keys.press("ArrowDown")
            keys.press("Enter")

    tab_to("#items-input")
    choosing(ada, lambda: keys.press("Enter")).set_files(table("capitals.csv", HEAD + ROWS))
    ada.reads("items-understood", "Choose the column that holds the question")
    assert ada.at("items-input").evaluate("at => at === document.activeElement"), "the focus stays where it was"
    pick("question", "Frage")
    ada.reads("items-understood", "3 items")
    pick("options", "eins", "zwei", "drei")
    pick("answer", "Lösung")
    ada.reads("items-understood", "3 items, no errors")
    expect(page_of(ada).get_by_role("radio")).to_have_count(3)
    about = [data for data in sent if '"by-keys"' in data]  # and not the banner's, which asks every few seconds
    assert all('"capitals.csv",' in data for data in about), (
        "nothing was painted anew, which would undo what was chosen"
    )
    tab_to("button#items-write, #items-write button")
    keys.press("Enter")
    ada.at("faults").locator(".verdict.good").wait_for()
    assert pools_in(drafts.text("by-keys")) == {"questions": {"path": "capitals.csv", "columns": MAPPED}}


def picture(name: str, content: bytes) -> dict[str, object]:
    return {"name": name, "mimeType": "image/png", "buffer": content}


def test_pictures(ada: AtConsole, drafts: Drafts, audit: Audit) -> None:
    begin(ada, drafts, "pictured")
    ada.reads("pictures-list", "no pictures")
    rows = "question,A,B,answer\nWhere does the line go? ![A line](line.png),up,down,B\n"
    choosing(ada, ada.at("items-input").click).set_files(table("charts.csv", rows))
    ada.reads("items-understood", "there is no file 'line.png'")
    ada.quiet()

    several = [
        picture("line.png", drawn()),
        picture("logo of the lab.webp", drawn(120, 300, "WEBP")),
        picture("paper.png", b"%PDF-1.7"),
        picture("large.png", bytes(MOST_BYTES + 1)),
    ]
    choosing(ada, lambda: ada.at("pictures-input").press("Enter")).set_files(several)
    ada.reads("pictures-progress", "2 of 4")
    refused = ada.at("pictures-refused").locator("li")
    expect(refused).to_have_count(2)
    expect(refused.nth(0)).to_contain_text("no picture")
    expect(refused.nth(1)).to_contain_text("at most 2,000,000")
    shown = ada.at("pictures-list").locator("li")
    expect(shown).to_have_count(2)
    expect(ada.at("items-understood")).not_to_contain_text("line.png'")
    expect(page_of(ada).get_by_role("img", name="A line")).to_have_js_property("naturalWidth", 480)
    audit(ada.page)

    ada.choose("pictures-which", "logo of the lab.webp")
    ada.press("pictures-remove")
    expect(shown).to_have_count(1)
    assert {path.name for path in drafts.folder("pictured").iterdir()} == {"study.yaml", "charts.csv", "line.png"}
    assert len(ada.complaints) == 1
    assert "/console/picture" in ada.complaints.pop(), "the browser names the request that was refused"
