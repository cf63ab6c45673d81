"""Hostile texts before a researcher's eyes: in the console's rooms, and in the replay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from problems.text import UNFIT
from storage.db.engine import open_database
from tests.browser.boxes import WINDOW, spilled
from tests.browser.hostile import A_CHAT, NOTE, Echo, Session, Watched, excluded, seeded, squeezed, study
from tests.browser.researcher import AtConsole
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.backends import registered
from tests.fakes.hostile import ALL, LIGHT, Payload
from tests.fakes.hostile.bombs import BOMBS
from tests.fakes.hostile.overflow import OVERFLOW
from tests.fakes.served import Process, settings_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.nightly]
TOLD = "#session-story .text, #session-story .given, #session-story dt, #session-head .why-excluded, .remark"
STORY = (
    "#session-story .message.you",
    "#session-story .message.bot",
    "#session-story dl.answers > div",
    "#session-story .remark",
)
# As in test_hostile, with fewer texts.
SOME, BOMBED, MOST_MS, HUNG_MS = 6, 2, 5_000, 60_000
TOLD_ALL = "document.querySelectorAll('#session-story .remark').length > 1"
DRAFTS = [one for one in LIGHT if not UNFIT.search(one.text)][::17]


@pytest.fixture(scope="module")
def sessions(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, soak: bool
) -> Iterator[tuple[str, list[Session]]]:
    """Where the console is, and whose sessions it shows."""
    chance = random.Random(int(request.config.option.hypothesis_seed))
    some = [*chance.sample(OVERFLOW, SOME), *chance.sample(LIGHT, SOME), *chance.sample(BOMBS, BOMBED)]
    texts = list(ALL) if soak else some
    folder = tmp_path_factory.mktemp("console")
    settings = settings_for(folder, max_reply_chars=20_000)
    with registered("echo", Echo):
        groups = [texts[start : start + A_CHAT] for start in range(0, len(texts), A_CHAT)]
        found = seeded(settings, study(folder, "hostile", "quick"), groups, "talk")
    database = open_database(settings.database_url)
    for session in found:
        excluded(database, session)
    database.dispose()
    draft(folder, DRAFTS)
    process = Process(folder, (), command="console")
    with ada_and_bob(process.database_url):
        process.start()
        yield process.url, found
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


def test_what_the_console_tells_of_hostile_texts_is_inert_and_stays_in_its_boxes(
    sessions: tuple[str, list[Session]], browser: Browser, soak: bool
) -> None:
    """Each as an answer, a message, a reply, a note and a reason to exclude; answers and notes read as typed. The same
    in the replay. Of a draft it is the title, the plan and the faults.

    There is no trace of it: for that Playwright puts a script into the replay's frame, which refuses it.
    """
    url, told = sessions
    context = browser.new_context(**WINDOW)
    watched = Watched(context.new_page(), url)
    ada = AtConsole(watched.page, url)
    ada.log_in("Ada", GOOD)
    for number, session in enumerate(told, 1):
        ada.page.goto(f"{url}/?study=hostile&tab=sessions")
        ada.reads("session-head", "Choose")
        row = ada.at("sessions-list").locator(f"[data-session='{number}']")
        assert watched.longest_ms(row.click, TOLD_ALL) < (MOST_MS if soak else HUNG_MS)
        ada.reads("session-head", f"Session {number}")
        assert squeezed(session.words[0][:NOTE]) in squeezed(ada.at("session-head").inner_text())
        notes = {squeezed(text) for text in ada.page.locator("#session-story .remark.noted").all_text_contents()}
        for words in session.words:
            assert any(squeezed(words[:NOTE]) in note for note in notes), words[:80]
        assert spilled(ada.page, *STORY) == {}
        assert watched.harms(TOLD) == []
        ada.page.get_by_role("tab", name="Replay").click()
        frame = ada.page.locator("iframe.replay")
        frame.wait_for()
        ada.write("session-moment", "100000")
        ada.quiet()
        assert spilled(ada.page, ".message.you", ".message.bot", unrolled="iframe.replay", frame=frame) == {}
        assert watched.harms(TOLD) == []
    ada.page.set_viewport_size({"width": 1280, "height": 900})
    ada.page.goto(f"{url}/?study=draft&tab=studies")
    ada.reads("study-title", "draft")
    ada.open("Edit")
    ada.at("faults").locator(".verdict").wait_for()
    ada.quiet()
    assert watched.harms("#study-title .title", "#faults li") == []
    context.close()
