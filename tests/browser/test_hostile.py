"""Hostile texts in a real browser: whoever wrote them, and wherever they are shown, they are text and nothing more, and
stay in their boxes.

All of them as the page's painter and the console's reader draw them; some as they are served, after a reload, and as
they are said and answered one by one. With --soak it is all. And what a reply in pieces leaves alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from app.web.console.text_rendering import BudgetedRenderer
from app.web.participant.view import StudyContext, render_page
from experiments.study.fields import ShortText, SingleChoice
from experiments.study.screen import (
    ChatMessage,
    ChatView,
    Panel,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    TextBlock,
    TranscriptBlock,
)
from tests.browser.boxes import WINDOW, spilled
from tests.browser.hostile import A_CHAT, Echo, Session, Watched, seeded, squeezed, study
from tests.browser.visitor import REPLIED, Visitor
from tests.browser.waiting import until
from tests.fakes.backends import registered
from tests.fakes.hostile import LIGHT, Payload
from tests.fakes.hostile.bombs import BOMBS, MESSAGE, letters
from tests.fakes.hostile.overflow import OVERFLOW
from tests.fakes.hostile.plain import plain
from tests.fakes.served import Served, serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
NewContext = Callable[..., BrowserContext]
PLAIN = [Payload("plain", str(number), plain(random.Random(number)), "read otherwise") for number in range(500)]
# The screens on which texts are shown again, and the boxes that they are in there.
STEPS = {
    "again": ("#left .field",),
    "told": ("#left .text",),
    "talk": ("#chat .message.you", "#chat .message.bot"),
    "rated": ("#left .message.you", "#left .message.bot"),
    "both": ("#talk .message.you", "#talk .message.bot"),
}
BUBBLES = "#chat .message .text"
SOME, PIECEWISE, PLACES = 4, 2, 2
# A second, measured where nothing else runs; the short test, beside others, only sees that nothing hangs.
MOST_MS, HUNG_MS = 1_000, 60_000
SAID = "n => document.querySelectorAll('#chat .message.you').length >= n"
ANSWERED = f"({REPLIED})() && document.querySelectorAll('#chat .message.you').length === 1"
CODE = "x = 1\ny = 2"
SELECT = "() => getSelection().selectAllChildren(document.querySelector('#chat .message.bot .text p'))"
SELECTED = "getSelection().toString()"
MARKDOWN = "*_`[]#\\~|$!&"


@dataclass(frozen=True)
class Place:
    """The participants' server, and its studies, one of whose models answers at once and the other's in pieces."""

    served: Served
    quick: Path
    slow: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("hostile")
    settings = settings_for(folder, max_reply_chars=20_000)
    quick, slow = study(folder, "hostile", "quick"), study(folder, "live", "slow")
    with registered("echo", Echo), serving_aside(settings, quick, slow) as served:
        yield Place(served, quick, slow)


@pytest.fixture
def groups(seed: int, soak: bool) -> list[list[Payload]]:
    """The texts of some sessions: all, or some of each kind."""
    chance = random.Random(seed)
    told = [*LIGHT, *PLAIN] if soak else [one for kind in (OVERFLOW, LIGHT, PLAIN) for one in chance.sample(kind, SOME)]
    return [told[start : start + A_CHAT] for start in range(0, len(told), A_CHAT)]


def at(place: Place, session: Session, context: BrowserContext) -> Watched:
    """Somebody's browser, at their screen."""
    session.sit_down(context, place.served.url)
    watched = Watched(context.new_page(), place.served.url)
    watched.page.goto(f"{place.served.url}/")
    Visitor(watched.page, place.served.url).ready()
    return watched


def drawn(text: str) -> str:
    """A text wherever a participant's page or the console shows one."""
    said = (ChatMessage("You", text), ChatMessage("Bot", text))
    asked = (
        ShortText(name="s", text=text),
        SingleChoice(name="o", text=text, help=text, options={"A": text, "B": "b"}),
    )
    panels = (
        Panel(text, (TextBlock(text), TranscriptBlock(text, said, text)), asked, button=text),
        Panel(chat=ChatView("AI", said, remaining=1, max_chars=4_000)),
        Panel(
            chat=ChatView(
                "AI",
                (),
                remaining=1,
                max_chars=4_000,
                columns=2,
                rounds=(RoundView(text, (ReplyView("a", "A", text),)),),
            )
        ),
    )
    look, parts = StudyContext("A study", dollar_maths=True), [str(BudgetedRenderer(dollars=True)(text))]
    for panel in panels:
        screen = Screen("step", 3, panel, ProgressView("", 0.5), ())
        parts += [
            str(part["value"])
            for part in render_page(screen, study=look, shown=None, draft={"s": text})["updates"].values()
        ]
    return "".join(parts)


def test_no_text_is_more_than_text_wherever_it_is_drawn(new_context: NewContext) -> None:
    """All at once, without the policy that would hold a script back; what was typed into a field stands in it."""
    page = new_context().new_page()
    watched = Watched(page, "http://drawn.test")
    body = "".join(f"<div>{drawn(one.text)}</div>" for one in LIGHT)
    page.route(
        "http://drawn.test/",
        lambda route: route.fulfill(
            body=f"<!doctype html><meta charset=utf-8><body hidden>{body}", content_type="text/html"
        ),
    )
    page.goto("http://drawn.test/")
    typed = page.locator("input[name=s]").evaluate_all("boxes => boxes.map((box) => box.value)")
    assert list(map(squeezed, typed)) == [squeezed(one.text) for one in LIGHT]
    harms = watched.harms(".text")
    assert harms == [], "\n".join(harms)


def test_texts_are_inert_and_stay_in_their_boxes(
    place: Place, new_context: NewContext, groups: list[list[Payload]], seed: int, soak: bool
) -> None:
    """As they are shown after a reload; and what has no mark of Markdown reads as typed."""
    context = new_context(**WINDOW)
    steps = [*STEPS] if soak else random.Random(seed).sample([*STEPS], PLACES)
    sessions = [(step, one) for step in steps for one in seeded(place.served.settings, place.quick, groups, step)]
    for step, session in sessions:
        watched = at(place, session, context)
        shown = squeezed("".join(watched.page.locator(", ".join(STEPS[step])).all_text_contents()))
        for payload, words in zip(session.texts, session.words, strict=True):
            plainly = payload.kind == "plain" and step != "told"  # which is the study's text, that may have entities
            if plainly or not (set(words) & set(MARKDOWN) or words.startswith((">", "-", "+", "="))):
                assert squeezed(words) in shown, payload.name
        assert spilled(watched.page, *STEPS[step], unrolled="#chat") == {}
        assert watched.harms(*(f"{box} .text" for box in STEPS[step])) == []
        watched.page.close()


def say(watched: Watched, text: str) -> None:
    """Write a message and send it."""
    watched.page.locator("#box textarea").fill(text)
    watched.page.locator("#send").click()


def paste(watched: Watched, text: str) -> None:
    """Paste a message and send it; typed, each of its lines would be laid out anew, which is the browser's doing."""
    page = watched.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator("#box textarea").press("Control+v")
    page.locator("#send").click()


def talking(place: Place, context: BrowserContext) -> Watched:
    """Somebody at the beginning of a conversation with a model that answers in pieces."""
    (session,) = seeded(place.served.settings, place.slow, [()], "talk")
    return at(place, session, context)


def test_words_that_come_in_pieces_are_inert(place: Place, new_context: NewContext, seed: int, soak: bool) -> None:
    """As they are typed, with the preview beside the box, and as the model repeats them piece by piece."""
    told = list(LIGHT) if soak else random.Random(seed).sample(LIGHT, PIECEWISE)
    for start in range(0, len(told), A_CHAT):
        watched = talking(place, new_context())
        for number, payload in enumerate(told[start : start + A_CHAT], 1):
            say(watched, payload.text)
            until(watched.page, SAID, number)
            until(watched.page, REPLIED)
            assert watched.harms(BUBBLES, "#preview .text") == [], payload.name


def test_a_bomb_holds_nobody_up(place: Place, new_context: NewContext, seed: int, soak: bool) -> None:
    """Typed, sent and answered; the page listens again within a second, and shows the text."""
    slow: dict[str, float] = {}
    lost: list[str] = []
    for payload in BOMBS if soak else [random.Random(seed).choice(BOMBS)]:
        watched = talking(place, new_context())
        held_ms = watched.longest_ms(partial(paste, watched, payload.text[:MESSAGE]), ANSWERED)
        if held_ms > (MOST_MS if soak else HUNG_MS):
            slow[payload.name] = held_ms
            continue
        watched.page.reload()
        Visitor(watched.page, place.served.url).ready()
        shown = watched.page.locator(BUBBLES).all_text_contents()
        typed = (payload.text[:MESSAGE], payload.text)
        lost += [payload.name for text, found in zip(typed, shown, strict=True) if not letters(text) <= letters(found)]
        assert watched.harms(BUBBLES) == [], payload.name
        watched.page.close()
    assert (slow, lost) == ({}, [])


def test_what_is_selected_stays_so_and_code_can_be_copied(place: Place, new_context: NewContext) -> None:
    """While the next reply comes."""
    watched = talking(place, new_context(own=True))
    page = watched.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(watched, f"Hello **you**\n\n```python\n{CODE}\n```\n\n\\(x^2\\)")
    until(page, ANSWERED)
    page.locator("#chat .message.bot .copy").click()
    until(page, "async code => (await navigator.clipboard.readText()).trim() === code", CODE)
    say(watched, "Again, in several paragraphs.\n\nOne.\n\nTwo.\n\n\\(y^2\\)\n\nThree.")
    until(page, SAID, 2)
    until(page, "() => document.querySelector('#box textarea').value === ''")  # then it has the focus again
    page.evaluate(SELECT)
    assert page.evaluate(SELECTED) == "Hello you"
    until(page, REPLIED)
    assert page.evaluate(SELECTED) == "Hello you"
    assert page.locator("#chat .message.bot math").count() == 2
