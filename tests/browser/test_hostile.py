"""Hostile texts in a real browser: whoever wrote them, and wherever they are shown, they are text and nothing more.

Most are on the screen at once, as after a reload; some are also said and answered one by one. With --soak it is all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.hostile import A_CHAT, Echo, Session, Watched, seeded, study
from tests.browser.visitor import REPLIED, Visitor
from tests.browser.waiting import until
from tests.fakes.backends import registered
from tests.fakes.hostile import ALL, LIGHT, Payload
from tests.fakes.hostile.bombs import MESSAGE, letters
from tests.fakes.hostile.plain import plain
from tests.fakes.served import Served, serving_aside, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
GROUPS = [LIGHT[start : start + A_CHAT] for start in range(0, len(LIGHT), A_CHAT)]
FILL = "texts => document.querySelectorAll('#left input[type=text]').forEach((box, n) => box.value = texts[n] ?? '')"
BUBBLES = "#chat .message .text"
SOME, BOMBS = 8, 3
MOST_MS, HUNG_MS = 1_000, 60_000
"""A second, measured where nothing else runs; the short test, beside others, only sees that nothing hangs."""
SAID = "n => document.querySelectorAll('#chat .message.you').length >= n"
ANSWERED = f"({REPLIED})() && document.querySelectorAll('#chat .message.you').length === 1"
MARKDOWN = "*_`[]#\\~|$!\ue000"


@dataclass(frozen=True)
class Place:
    """The participants' server, and who has been there."""

    served: Served
    slow: Path
    """The study whose model answers in pieces."""
    talked: list[Session]
    asked: list[Session]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("hostile")
    settings = settings_for(folder, max_reply_chars=20_000)
    with registered("echo", Echo):
        quick, slow = study(folder, "hostile", "quick"), study(folder, "live", "slow")
        talked = seeded(settings, quick, GROUPS, "talk")
        asked = seeded(settings, quick, GROUPS, "again")
        with serving_aside(settings, quick, slow) as served:
            yield Place(served, slow, talked, asked)


def at(place: Place, session: Session, new_context: NewContext) -> Watched:
    """Somebody's browser, at their screen."""
    context = new_context()
    session.sit_down(context, place.served.url)
    watched = Watched(context.new_page(), place.served.url)
    watched.page.goto(f"{place.served.url}/")
    Visitor(watched.page, place.served.url).ready()
    return watched


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_a_conversation_of_hostile_texts_is_inert(place: Place, new_context: NewContext, number: int) -> None:
    """Each as a message and as the reply to it, after a reload; and what has no mark of Markdown reads as typed."""
    session = place.talked[number]
    watched = at(place, session, new_context)
    for kind in ("you", "bot"):
        shown = watched.page.locator(f"#chat .message.{kind} .text")
        assert shown.count() == len(session.texts)
        for payload, words, text in zip(session.texts, session.words, shown.all_text_contents(), strict=True):
            if not set(words) & set(MARKDOWN) and not words.startswith((">", "-", "+", "=")):
                assert squeezed(words) in squeezed(text), payload.name
    harms = watched.harms(BUBBLES)
    assert harms == [], "\n".join(harms)


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_free_answers_that_are_shown_again_are_inert(place: Place, new_context: NewContext, number: int) -> None:
    """In the words of later questions, and in a page's text; what was typed into a form stays in it as typed."""
    session = place.asked[number]
    watched = at(place, session, new_context)
    labels = watched.page.locator("#left .field").all_inner_texts()
    for payload, words, text in zip(session.texts, session.words, labels, strict=False):
        if not set(words) & set(MARKDOWN + "&"):
            assert squeezed(words) in squeezed(text), payload.name
    boxes = watched.page.locator("#left .field input[type=text]")
    watched.page.evaluate(FILL, session.words)
    kept = [" ".join(words.split("\n")) for words in session.words]
    with watched.page.expect_response("**/api/draft"):
        boxes.nth(0).fill(kept[0] + " ")
    watched.page.reload()
    Visitor(watched.page, place.served.url).ready()
    assert [squeezed(boxes.nth(n).input_value()) for n in range(len(kept))] == list(map(squeezed, kept))
    watched.page.locator("#left form button[type=submit]").click()
    until(watched.page, "document.querySelector('#left form [data-field=f0]') === null")
    assert watched.harms("#left .text") == []


def test_signs_that_mean_nothing_are_shown_as_they_are(place: Place, new_context: NewContext, soak: bool) -> None:
    """In messages and in replies, after a reload; with --soak 500 texts."""
    texts = [Payload("plain", str(number), plain(random.Random(number)), "read otherwise") for number in range(500)]
    told = texts if soak else texts[:A_CHAT]
    groups = [told[start : start + A_CHAT] for start in range(0, len(told), A_CHAT)]
    quick = place.slow.parent / "hostile.yaml"
    for session in seeded(place.served.settings, quick, groups, "talk"):
        watched = at(place, session, new_context)
        for kind in ("you", "bot"):
            shown = watched.page.locator(f"#chat .message.{kind} .text").all_text_contents()
            wrong = [w for w, text in zip(session.words, shown, strict=True) if squeezed(w) not in squeezed(text)]
            assert wrong == []
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


def talking(place: Place, new_context: NewContext) -> Watched:
    """Somebody at the beginning of a conversation with a model that answers in pieces."""
    (session,) = seeded(place.served.settings, place.slow, [()], "talk")
    return at(place, session, new_context)


def test_words_that_come_in_pieces_are_inert(place: Place, new_context: NewContext, seed: int, soak: bool) -> None:
    """As they are typed, with the preview beside the box, and as the model repeats them piece by piece."""
    told = list(LIGHT) if soak else random.Random(seed).sample(LIGHT, SOME)
    for start in range(0, len(told), A_CHAT):
        watched = talking(place, new_context)
        for number, payload in enumerate(told[start : start + A_CHAT], 1):
            say(watched, payload.text)
            until(watched.page, SAID, number)
            until(watched.page, REPLIED)
            assert watched.harms(BUBBLES, "#preview .text") == [], payload.name


def test_a_bomb_holds_nobody_up(place: Place, new_context: NewContext, seed: int, soak: bool) -> None:
    """Typed, sent and answered; the page listens again within a second, and shows the text."""
    bombs = [one for one in ALL if one.kind == "bomb"]
    told = bombs if soak else random.Random(seed).sample(bombs, BOMBS)
    slow: dict[str, float] = {}
    lost: list[str] = []
    for payload in told:
        watched = talking(place, new_context)
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
