"""The tutorial in a browser: from 40 questions in a spreadsheet to a data file, wholly in the console.

With SCREENSHOTS=1 in the environment (`make screenshots`) it takes the tutorial's pictures on the way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from docs.images import keep
from tests.browser.researcher import LONG_MS, AtConsole, come, empty_lab
from tests.browser.visitor import Visitor
from tests.browser.waiting import settled
from tests.fakes.accounts import GOOD
from tests.fakes.model_server import serve
from tests.fakes.served import Process

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
SCREENSHOTS = "SCREENSHOTS" in os.environ
if not SCREENSHOTS:  # its parts have tests of their own
    pytestmark.append(pytest.mark.soak)
PEOPLE = 12 if SCREENSHOTS else 2
REDRAWN_MS = 15_000  # the charts follow the counts with the next look
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
HEAD = "id,topic,question,A,B,C,D,correct\n"
CONSENT = """You answer six questions with an AI chatbot. It takes about twelve minutes.

Your answers and messages are kept without your name and may be published. You can stop at any time."""
WAY = "Split one factor into easy parts: 12 × 9 = 10 × 9 + 2 × 9 = 90 + 18 = **108**. Try the same with your numbers."


def questions() -> str:
    """40 questions, of two topics in turn."""
    lines = [HEAD]
    for n in range(1, 41):
        a, b = 6 + n % 14, 4 + n % 9
        asked = f"arithmetic,What is {a} × {b}?" if n % 2 else f"word problem,{b} boxes hold {a} pens each. How many?"
        options = [a * b + step for step in (-b, 0, a, 10)]
        shift = n % 4
        right = "ABCD"[(1 - shift) % 4]
        shown = ",".join(map(str, options[shift:] + options[:shift]))
        lines.append(f"q{n:02},{asked},{shown},{right}\n")
    return "".join(lines)


def reply_to(asked: str) -> str:
    """What the models say."""
    return "Hello, I am ready to help." if "short sentence" in asked else WAY


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    """A participants' server and a console over one empty database, and a hosted and a local model; the repository's
    fake model server stands for both."""
    with serve() as models:
        models.reply_to = reply_to
        env = {
            "PARLEY_OPENAI_API_KEY": "sk-tutorial",
            "PARLEY_OPENAI_BASE_URL": models.base_url,
            "PARLEY_MODEL_SERVERS": json.dumps({"ollama": {"url": models.base_url}}),
        }
        with empty_lab(tmp_path, env) as made:
            yield made


def shown(page: Page, name: str) -> None:
    """Keep what is on the screen as a picture of the tutorial, if pictures are wanted."""
    if SCREENSHOTS:
        settled(page)
        page.mouse.move(1, 1)
        keep(page.screenshot(), f"tutorial-{name}")


def at_top(ada: AtConsole, elem_id: str) -> None:
    """Scroll until a part is at the top of the window."""
    ada.at(elem_id).evaluate("one => one.scrollIntoView({ block: 'start' })")


def build(ada: AtConsole) -> None:
    """The form, step by step."""
    page = ada.page
    ada.press("new-build")
    ada.at("builder-verdict").locator("ul.todo").wait_for(timeout=LONG_MS)
    ada.write("b-name", "pens")
    ada.at("b-items").get_by_role("radio", name="a file, which").check()
    ada.at("b-path").wait_for()
    ada.write("b-path", "questions.csv")
    ada.write("b-take", "6")
    ada.at("b-model_count").get_by_role("radio", name="2").check()
    ada.at("b-models-1-name").wait_for()
    for number, (server, model, name) in enumerate(
        (("OpenAI", "gpt-4o-mini", "hosted"), ("ollama", "llama3.2:3b", "local"))
    ):
        ada.choose(f"b-models-{number}-server", server)
        ada.write(f"b-models-{number}-model", model)
        ada.write(f"b-models-{number}-name", name)
    ada.quiet()
    ada.press("b-test")
    expect(ada.at("b-tested").locator(".replied")).to_have_count(2, timeout=LONG_MS)
    at_top(ada, "part-3")
    expect(ada.at("builder-text")).to_be_in_viewport()  # the file stays in view beside the form
    shown(page, "builder")
    ada.choose("b-recruiter", "Prolific")
    ada.write("b-places", "60")
    ada.choose("b-bonus_per", "answered correctly")
    ada.write("b-bonus", "0.10")
    ada.write("b-bonus_most", "0.60")
    ada.write("b-codes-complete", "PENS-2026")
    ada.write("b-codes-no_consent", "PENS-NO")
    ada.write("b-title", "Forty sums, with two assistants")
    ada.write("b-contact", "you@university.example")
    ada.write("b-consent", CONSENT)
    ada.reads("builder-text", "twelve minutes")
    ada.press("b-create")
    ada.reads("study-title", "pens")
    ada.quiet()


def upload(ada: AtConsole) -> None:
    """The table, and what its columns hold."""
    ada.open("Items")
    with ada.page.expect_file_chooser() as chooser:
        ada.at("items-input").click()
    table = {"name": "questions.csv", "mimeType": "text/csv", "buffer": questions().encode()}
    chooser.value.set_files(table)  # type: ignore[arg-type]
    ada.reads("items-status", "40 rows and 8 columns")
    ada.reads("items-understood", "40 items, no errors")
    ada.page.frame_locator("#items-page iframe").locator("#left").wait_for(timeout=LONG_MS)
    shown(ada.page, "items")
    ada.press("items-write")
    ada.at("faults").locator(".verdict.good").wait_for(timeout=LONG_MS)


def publish(ada: AtConsole) -> None:
    """As the version that participants get, and open."""
    ada.quiet()
    ada.press("publish-ask")
    expect(ada.at("publishing")).to_be_focused(timeout=LONG_MS)
    shown(ada.page, "publish")
    ada.press("publish-yes")
    expect(ada.page.locator("button#decide-opened")).to_be_visible(timeout=LONG_MS)
    ada.press("decide-opened")
    expect(ada.at("study-title")).to_contain_text("open", timeout=LONG_MS)
    ada.quiet()
    shown(ada.page, "links")


def try_it(ada: AtConsole, participants: Process, new: Callable[..., BrowserContext]) -> None:
    """By the preview's link, on a desktop and on a phone."""
    row = ada.at("study-about").locator(".links > div", has_text="Preview")
    link = row.locator("code").inner_text()
    for size in ({"viewport": {"width": 1280, "height": 800}}, PHONE):
        page = new(reduced_motion="reduce", **size).new_page()
        page.goto(link)
        visitor = Visitor(page, participants.url)
        page.get_by_role("button").click()
        visitor.ready()
        visitor.until("chat")
        if size is not PHONE:
            visitor.say("How do I work that out in my head?")
            visitor.hear_out()
        shown(page, "phone" if size is PHONE else "page")


def test_the_tutorial_in_the_console(
    servers: tuple[Process, Process], new_context: Callable[..., BrowserContext]
) -> None:
    participants, console = servers
    ada = AtConsole(
        new_context(accept_downloads=True, reduced_motion="reduce", color_scheme="light").new_page(), console.url
    )
    ada.log_in("Ada", GOOD)
    build(ada)
    upload(ada)
    publish(ada)
    try_it(ada, participants, new_context)

    ada.open("Monitoring")
    ada.reads("live-head", "0")
    come(participants.url, "pens", PEOPLE, leaves=3).join()
    expect(ada.at("live-head").locator("[data-count=started] b")).to_have_text(str(PEOPLE), timeout=LONG_MS)
    ada.quiet()
    if SCREENSHOTS:
        ada.page.wait_for_timeout(REDRAWN_MS)
    shown(ada.page, "monitoring")

    ada.open("Export")
    ada.choose("data-schema", "tidy")
    ada.press("data-make")
    names = ada.download().namelist()
    shown(ada.page, "export")
    assert any(name.endswith("answers.csv") for name in names), names
    assert ada.complaints == []
