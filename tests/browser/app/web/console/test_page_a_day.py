"""A researcher's day at the console, in a browser: from a template to a report, without a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.extension import extensions
from app.web import gradio_page
from tests.browser.axe import TOO_WIDE
from tests.browser.researcher import LONG_MS, AtConsole, come, empty_lab
from tests.browser.visitor import Visitor
from tests.browser.waiting import settled, until
from tests.fakes.accounts import GOOD
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]  # on a machine that does much else
PEOPLE, MANY = 5, 30
ARRIVING_S = {PEOPLE: 2.0, MANY: 20.0}
TABLET = {"width": 820, "height": 1180}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    with empty_lab(tmp_path) as made:
        yield made


def make_a_study(ada: AtConsole, draft: Path) -> None:
    """From a template, with two faults that the checker tells as one types, mended and published."""
    ada.write("new-name", "morning")
    ada.choose("new-like", "demo")
    ada.press("new-make")
    ada.reads("study-title", "morning")
    ada.open("Edit")
    sound = draft.read_text(encoding="utf-8").replace("{wrong:", "{first_ms: 20, pace_ms: 1, wrong:")
    faulty = sound.replace("type: single_choice", "type: singel_choice", 1).replace(
        "backend: scripted", "backend: scribted", 1
    )
    ada.rewrite("study-text", faulty)
    expect(ada.at("faults").locator("ol.faults li")).to_have_count(2, timeout=LONG_MS)
    for word in ("singel", "scribted"):
        line = next(n for n, text in enumerate(faulty.splitlines(), 1) if word in text)
        ada.reads("faults", f"line {line}")
    ada.look("2-faults")
    ada.rewrite("study-text", sound)
    ada.at("faults").locator(".verdict.good").wait_for()
    ada.press("publish-ask")
    ada.press("publish-yes")
    ada.reads("study-title", "published")
    ada.look("3-published")


def walk_through(ada: AtConsole, participants: Process, context: BrowserContext) -> None:
    """As a participant, from a step in the midst of it, in a condition."""
    ada.press("decide-piloted")
    ada.reads("study-title", "pilot")
    ada.open("Preview")
    ada.quiet()  # the decision's answer paints this tab as well
    ada.choose("walk-step", "background")
    ada.quiet()
    ada.choose("walk-where", "condition=direct-to-AI")
    ada.page.keyboard.press("Escape")
    ada.press("walk-go")
    link = ada.at("walk-link").locator("a").first
    expect(link).to_be_visible(timeout=LONG_MS)
    ada.look("4-walk")
    page = context.new_page()
    page.goto(str(link.get_attribute("href")))
    visitor = Visitor(page, participants.url)
    visitor.ready()
    assert "mathematics" in visitor.text
    expect(page.locator("#head")).to_contain_text("pilot", ignore_case=True)
    page.close()
    ada.open("Overview")
    ada.press("decide-opened")
    ada.reads("study-title", "open")


def watch(ada: AtConsole, participants: Process, number: int) -> None:
    """Monitoring, which updates automatically, until all have come and are done or gone."""
    ada.open("Monitoring")
    ada.reads("live-head", "0")
    people = come(participants.url, "morning", number, leaves=5, within_s=ARRIVING_S[number])
    arrived = ada.at("live-head").locator("[data-count=started] b")
    expect(arrived).not_to_have_text("0", timeout=LONG_MS)
    ada.look("5-live-early")
    expect(arrived).to_have_text(str(number), timeout=3 * LONG_MS)
    people.join(180)
    assert not people.is_alive()
    complete = ada.at("live-head").locator("[data-count=complete] b")
    expect(complete).to_have_text(str(number - number // 5), timeout=LONG_MS)
    ada.look("6-live")


def look_into(ada: AtConsole) -> str:
    """A flagged session: why, its story, a note, excluded; its number."""
    ada.open("Sessions")
    ada.choose("sessions-flag", "too fast")
    row = ada.at("sessions-list").locator("tbody tr").first
    expect(row).to_contain_text("too fast")
    number = row.locator("a").inner_text()
    ada.at("sessions-list").locator(
        "a", has_text=re.compile(f"^{number}$")
    ).click()  # the first row may be another by now
    ada.reads("session-head", f"Session {number}")
    ada.reads("session-head", "too fast")
    ada.reads("session-story", "Consent")
    ada.look("7-session")
    ada.write("session-said", "Clicked through it without reading")
    ada.press("session-exclude")
    ada.reads("session-head", "Clicked through it without reading")
    ada.page.get_by_role("tab", name="Replay").click()
    ada.at("session-page").locator("iframe").wait_for()
    ada.look("8-replay")
    ada.page.reload()
    ada.reads("session-head", f"Session {number}")
    return number


def results(ada: AtConsole, context: BrowserContext, looked: Callable[[Page, str], None], *, soak: bool) -> None:
    ada.open("Results")
    expect(ada.at("results-plot-0").locator(".marks").first).to_be_visible(timeout=LONG_MS)
    ada.look("11-results")
    link = ada.page.get_by_role("link", name="Full report")
    expect(link).to_have_attribute("href", re.compile("^report/morning"))
    if soak:  # it takes a minute to compute
        with context.expect_page() as report:
            link.click()
        expect(report.value.locator("h1")).to_contain_text("A taste of Parley", timeout=3 * LONG_MS)
        looked(report.value, "12-report")


def test_a_day(
    servers: tuple[Process, Process], new_context: Callable[..., BrowserContext], tmp_path: Path, soak: bool
) -> None:
    """On a tablet, in the dark; with --soak there are pictures of it in the test's folder.

    On the way there is all that is assumed of Gradio's page, no event goes through its queue, and no room is too wide.
    """
    participants, console = servers
    assumed, asked = {*gradio_page.BOTH, *gradio_page.CONSOLE}, set[str]()

    def looked(page: Page, name: str) -> None:
        assumed.difference_update([one for one in assumed if page.locator(one).count()])
        until(page, f"{TOO_WIDE} <= 0")
        if soak:
            settled(page)
            page.screenshot(path=tmp_path / f"{name}.png", full_page=True)

    context = new_context(accept_downloads=True, viewport=TABLET, color_scheme="dark")
    ada = AtConsole(context.new_page(), console.url, looked)
    ada.page.on("request", lambda request: asked.add(urlsplit(request.url).path))
    ada.page.goto(console.url)
    ada.look("1-login")
    ada.log_in("Ada", GOOD)
    make_a_study(ada, tmp_path / "studies" / "morning" / "study.yaml")
    walk_through(ada, participants, context)
    watch(ada, participants, MANY if soak else PEOPLE)
    number = look_into(ada)
    ada.open("Export")
    ada.reads("data-outlook", "excluded")
    ada.press("data-make")
    files = ada.download()
    ada.look("9-data")
    readme = files.read(next(name for name in files.namelist() if name.endswith("README.md"))).decode()
    assert "Clicked through it without reading" in readme
    if any(extension.name == "analysis" for extension in extensions()):
        results(ada, context, looked, soak=soak)
    ada.open("Accounts")
    ada.reads("people-deeds", f"No. {number}")
    ada.look("13-people")
    assert (ada.complaints, assumed) == ([], set())
    assert {path for path in asked if "gradio" in path} == {gradio_page.EVENTS}
