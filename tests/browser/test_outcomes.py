"""Ways in which a session can end, walked through in a browser: the page, the code, the way out, the log;
on a desktop in English, or on a phone in Arabic.

In short the ways that look otherwise: a failed check of attention looks as being screened out does, and a model that
fails for good is walked to its end in test_page_model_failures.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.i18n.catalogues import catalogue
from experiments.session.outcomes import COMMON
from storage.db.engine import Database, open_database
from tests.browser.axe import TOO_WIDE
from tests.browser.conftest import serve
from tests.browser.visitor import Visitor
from tests.browser.waiting import until
from tests.fakes import studies
from tests.fakes.served import Process
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
CODES = {name: f"C-{name.upper().replace('_', '')}" for name in COMMON}
STUDY: dict[str, Any] = {
    "study": "ways",
    "title": "Ways to the end",
    "contact": "researcher@example.org",
    "languages": ["en", "ar"],
    "recruitment": {"channels": ["prolific"]},
    "outcomes": {name: {"code": code} for name, code in CODES.items()},
    "problems": {"questions": {"source": "chatbench"}},
    "models": {"only": {"backend": "openai"}},
    "flow": [
        {"step": "consent", "text": "You go one of several ways. It takes a minute."},
        {
            "step": "check",
            "kind": "screening",
            "title": "First",
            "questions": [
                {"type": "single_choice", "name": "teach", "text": "Do you teach?", "options": ["No", "Yes"]}
            ],
            "correct_answers": {"teach": "Yes"},
        },
        {
            "step": "survey",
            "id": "way",
            "title": "Which way?",
            "questions": [
                {"type": "single_choice", "name": "to", "text": "Go on to", "options": ["end", "care", "time", "talk"]}
            ],
        },
        {
            "step": "check",
            "id": "care",
            "kind": "attention",
            "policy": "screen_out",
            "when": {"way.to": "care"},
            "questions": [
                {"type": "single_choice", "name": "blue", "text": "Choose blue.", "options": ["Red", "Green", "Blue"]}
            ],
            "correct_answers": {"blue": "Blue"},
        },
        {
            "step": "survey",
            "id": "time",
            "title": "A minute of your time",
            "when": {"way.to": "time"},
            "time_limit": {"after_s": 6, "warn_before_s": 20, "on_expiry": "end", "extensions": 1},
            "questions": [{"type": "long_text", "name": "much", "text": "Write as much as you can."}],
        },
        {
            "each": "question",
            "of": "questions",
            "take": 1,
            "when": {"way.to": "talk"},
            "flow": [{"step": "chat", "min_messages": 1, "on_failure": {"action": "stop", "after_retries": 0}}],
        },
        {"step": "finish"},
    ],
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "locale": "ar"}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("ways")
    nowhere = {
        "PARLEY_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "PARLEY_OPENAI_API_KEY": "k",
        "PARLEY_MODEL_ATTEMPTS": "1",
    }
    yield from serve(folder, studies.write(folder, STUDY), env=nowhere)


@pytest.fixture
def database(ways: Process) -> Iterator[Database]:
    found = open_database(ways.database_url)
    yield found
    found.dispose()


def agree(visitor: Visitor) -> None:
    visitor.go_on()


def choose(visitor: Visitor, *numbers: int) -> None:
    """Answer the screen's questions by the numbers of their options, and go on."""
    before = visitor.mark
    for field, number in zip(visitor.page.locator("#left .field").all(), numbers, strict=True):
        visitor.choose(field, number)
    visitor.press(visitor.page.locator("#left form button[type=submit]"))
    visitor.arrived_from(before)


def to_the_end(visitor: Visitor, way: int) -> None:
    agree(visitor)
    choose(visitor, 1)
    choose(visitor, way)


def decline(visitor: Visitor) -> None:
    before = visitor.mark
    ask, back = visitor.page.locator("[data-open=declining]"), visitor.page.locator("#declining [data-close]")
    ask.focus()
    visitor.page.keyboard.press("Enter")
    expect(back).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(ask).to_be_focused()
    ask.click()
    visitor.page.locator("#declining [data-act=decline]").click()
    visitor.arrived_from(before)


def screened_out(visitor: Visitor) -> None:
    agree(visitor)
    choose(visitor, 0)


def careless(visitor: Visitor) -> None:
    to_the_end(visitor, 1)
    choose(visitor, 0)


def too_slow(visitor: Visitor) -> None:
    to_the_end(visitor, 2)
    clock, alarm = visitor.page.locator("#clock"), visitor.page.locator("#alarm")
    expect(clock).to_contain_text("0:0")
    expect(alarm.locator("span")).to_contain_text(re.compile("[0-6]"))
    expect(alarm).to_have_attribute("role", "status")
    alarm.get_by_role("button").click()
    expect(alarm.get_by_role("button")).to_be_hidden()
    before = visitor.mark
    visitor.page.locator("#left textarea").fill("I was about to")
    visitor.arrived_from(before)


def left_by_the_model(visitor: Visitor) -> None:
    to_the_end(visitor, 3)
    before = visitor.mark
    visitor.type_message("Hello?")
    visitor.send()
    visitor.arrived_from(before)


def withdraw(visitor: Visitor) -> None:
    agree(visitor)
    page = visitor.page
    page.locator("[data-open=leave]").click()
    expect(page.locator("dialog#leave")).to_be_visible()
    page.locator("dialog [data-close]").click()
    expect(page.locator("dialog#leave")).to_be_hidden()
    page.locator("[data-open=leave]").click()
    before = visitor.mark
    page.locator("dialog [data-act=withdraw]").click()
    visitor.arrived_from(before)


WAYS: dict[str, Callable[[Visitor], None]] = {
    "complete": lambda visitor: to_the_end(visitor, 0),
    "no_consent": decline,
    "screened_out": screened_out,
    "failed_attention": careless,
    "timed_out": too_slow,
    "technical_failure": left_by_the_model,
    "withdrawn": withdraw,
}


SHORT = {"complete": "ar", "no_consent": "en", "screened_out": "ar", "withdrawn": "ar"}
NIGHTLY = {"failed_attention": "en", "timed_out": "en", "technical_failure": "ar"}


@pytest.mark.parametrize(
    ("outcome", "language"),
    [*SHORT.items(), *(pytest.param(*way, marks=pytest.mark.nightly) for way in NIGHTLY.items())],
)
def test_each_end_has_its_page_its_code_and_its_row(
    ways: Process,
    database: Database,
    new_context: Callable[..., BrowserContext],
    outcome: str,
    language: str,
) -> None:
    page = new_context(**(DESKTOP if language == "en" else PHONE)).new_page()
    visitor = Visitor(page, ways.url, at_each=fits)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    visitor.arrive("ways", f"?PROLIFIC_PID={outcome}-{language}&SESSION_ID=s1")
    WAYS[outcome](visitor)
    say = catalogue(language)
    title = "" if outcome == "technical_failure" else say(COMMON[outcome][0])
    assert not title or visitor.heading == title
    assert page.locator("#completion-code").inner_text() == CODES[outcome]
    assert page.locator("a.button").get_attribute("href") == "out"
    expect(page.locator("#say")).to_be_hidden()
    row = "SELECT stream FROM seat WHERE outcome = :outcome ORDER BY until_us DESC"
    ((stream,), *_) = query(database, row, outcome=outcome)
    log = facts(database, stream)
    assert [e.kind for e in log if e.kind in ("finished", "withdrew")] == (
        ["withdrew"] if outcome == "withdrawn" else ["finished"]
    )
    assert page.request.get(f"{ways.url}/out", max_redirects=0).headers["location"].endswith(f"?cc={CODES[outcome]}")
    assert facts(database, stream) == log


def fits(page: Page) -> None:
    """Nothing sticks out."""
    until(page, f"{TOO_WIDE} <= 0")
