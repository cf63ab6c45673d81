"""Hostile texts before a researcher's eyes: in the console's rooms, in the replay, and in the report."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from app.analysis.intervals import Interval
from app.analysis.report import html
from app.web.gate import POLICY
from storage.engine import open_database
from tests.browser.hostile import A_CHAT, Echo, Session, Watched, excluded, seeded, study
from tests.browser.researcher import AtConsole
from tests.browser.waiting import quiet
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.backends import registered
from tests.fakes.hostile import ALL, LIGHT, Payload
from tests.fakes.reports import figure, finding, report
from tests.fakes.served import Process, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
NewContext = Callable[..., BrowserContext]
BOMBS = [one for one in ALL if one.kind == "bomb"]
TOLD = "#session-story .text, #session-story .given, #session-story dt, #session-head .why-excluded, .remark"
SOME, MOST_MS, HUNG_MS = 8, 5_000, 60_000
"""As in test_hostile."""
STORY = "document.querySelectorAll('#session-story .remark').length > 1"
DRAFTS = [one for one in LIGHT if "\x00" not in one.text][::17]


@dataclass(frozen=True)
class Console:
    """The console's server, and whose sessions it shows."""

    process: Process
    sessions: list[Session]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, soak: bool) -> Iterator[Console]:
    chance = random.Random(int(request.config.option.hypothesis_seed))
    texts = ALL if soak else (*chance.sample(LIGHT, A_CHAT - SOME), *chance.sample(BOMBS, SOME))
    groups = [texts[start : start + A_CHAT] for start in range(0, len(texts), A_CHAT)]
    folder = tmp_path_factory.mktemp("console")
    settings = settings_for(folder, max_reply_chars=20_000)
    with registered("echo", Echo):
        path = study(folder, "hostile", "quick")
        sessions = seeded(settings, path, groups, "talk")
    database = open_database(settings.database_url)
    for session in sessions:
        excluded(database, session)
    database.dispose()
    draft(folder, DRAFTS)
    process = Process(folder, (), command="console")
    with ada_and_bob(process.database_url):
        process.start()
        yield Console(process, sessions)
        process.stop()
    assert "Traceback" not in process.log


def draft(folder: Path, texts: list[Payload]) -> None:
    """A study that is being written, with hostile words wherever it has words."""
    words = [one.text.replace('"', "'").replace("\\", "").encode("unicode_escape").decode() for one in texts]
    steps = "\n".join(f'  - {{step: info, id: i{n}, title: "{one}", text: "{one}"}}' for n, one in enumerate(words))
    place = folder / "studies" / "draft"
    place.mkdir(parents=True)
    steps += f'\n  - {{step: finish, code: DONE}}\n  - {{step: "{words[1]}"}}'
    raw = f'study: draft\ntitle: "{words[0]}"\nflow:\n{steps}\n'
    (place / "study.yaml").write_text(raw, encoding="utf-8")


@pytest.fixture
def ada(console: Console, browser: Browser) -> Iterator[tuple[AtConsole, Watched]]:
    """At the console, without a trace: for that Playwright puts a script into the replay's frame, which refuses it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    watched = Watched(page, console.process.url)
    ada = AtConsole(page, console.process.url)
    ada.log_in("Ada", GOOD)
    yield ada, watched
    context.close()


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_sessions_of_hostile_texts_are_told_and_replayed(
    console: Console, ada: tuple[AtConsole, Watched], soak: bool
) -> None:
    """Each as an answer, a message, a reply, a note and a reason to exclude; answers and notes read as typed."""
    at, watched = ada
    for number, session in enumerate(console.sessions, 1):
        at.page.goto(f"{console.process.url}/?study=hostile&tab=sessions")
        at.reads("session-head", "Choose")
        row = at.at("sessions-list").locator(f"[data-session='{number}']")
        assert watched.longest_ms(row.click, STORY) < (MOST_MS if soak else HUNG_MS)
        at.reads("session-head", f"Session {number}")
        assert squeezed(session.words[0]) in squeezed(at.at("session-head").inner_text())
        notes = {squeezed(text) for text in at.page.locator("#session-story .remark.noted").all_text_contents()}
        for words in session.words:
            assert any(squeezed(words[:2000]) in note for note in notes), words[:80]
        assert watched.harms(TOLD) == []
        at.page.get_by_role("tab", name="Replay").click()
        at.at("session-page").locator("iframe").wait_for()
        quiet(at.page)
        assert watched.harms(TOLD) == []


def test_a_draft_of_hostile_texts_is_shown(console: Console, ada: tuple[AtConsole, Watched]) -> None:
    """Its title, its plan and its faults."""
    at, watched = ada
    at.page.goto(f"{console.process.url}/?study=draft&tab=studies")
    at.reads("study-title", "draft")
    at.open("Write")
    at.reads("faults", "fault")
    quiet(at.page)
    assert watched.harms("#study-title .title", "#faults li") == []


def test_a_report_of_hostile_labels_is_inert(new_context: NewContext) -> None:
    """Under the policy of the console's pages."""
    page = new_context().new_page()
    watched = Watched(page, "http://report.test")
    figures = [figure(f"x.{n}", one.text, Interval(0.3, 0.2, 0.4), model=one.text) for n, one in enumerate(LIGHT)]
    told = html(report(finding("arena.win_rate", figures)))
    policy = {"content-security-policy": POLICY.format(nonce="none", more="")}
    page.route("http://report.test/", lambda route: route.fulfill(body=told, content_type="text/html", headers=policy))
    page.goto("http://report.test/")
    text = squeezed(page.locator("body").text_content() or "")
    assert [one.name for one in LIGHT if squeezed(one.text) not in text] == []
    assert watched.harms("td", "th") == []
