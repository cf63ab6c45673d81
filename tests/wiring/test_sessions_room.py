"""The console's room of sessions: what is listed and told, who may do what there, and texts that want to do harm."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.clock import SystemClock
from app.session.service import SessionService
from app.studies.loader import load_study
from app.web.console.replay_player import LONGEST_S, PAUSE, SHORTEST_S
from app.web.console.session_filters import NAMES
from app.web.console.tabs.sessions import DONE
from storage.db.engine import Database
from storage.log.event_log import load
from storage.registers.participants import ParticipantId, Participants
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.researcher import Researcher, Wired, value, visible
from tests.fakes.served import SECRET, settings_for

pytestmark = pytest.mark.anyio
PID = "5f3c9a-the-recruiters-id"
WORD = "a word of Bob's own"
Console = tuple[Room, Researcher]


async def _somebody(folder: Path, database: Database, said: str = WORD, id_: str = PID) -> str:
    """A participant with a recruiter's id, who wrote something and asked a model."""
    runtime = SessionService(database, settings_for(folder), SystemClock())
    study = load_study(str(studies.short(folder)))
    runtime.prepare(study)
    identity = Participants(database, SECRET).entry("short", ParticipantId("prolific", id_))
    stream = (await runtime.enrol(study, origin="person", identity=identity)).stream
    given = [{"agreed": "on"}, {"comment": said, "used": ["Pen"]}, {"confidence": "very"}]
    for number, values in enumerate(given):
        live = await runtime.get(stream)
        assert live is not None
        if live.screen.path.endswith("confidence"):
            (asked,) = live.screen.panel.fields
            values = {"confidence": next(iter(asked.options))}  # type: ignore[attr-defined]
        await runtime.participant(stream, "submit", live.screen.path, values, seen=live.screen.seen, key=f"{number}")
    live = await runtime.get(stream)
    assert live is not None
    while "say" not in live.screen.actions:
        (asked,) = live.screen.panel.fields
        values = {asked.name: next(iter(asked.options))}  # type: ignore[attr-defined]
        live = await runtime.participant(stream, "submit", live.screen.path, values, seen=live.screen.seen)
    await runtime.participant(stream, "say", live.screen.path, {"text": said}, seen=live.screen.seen, key="say")
    await runtime.settled(stream)
    await runtime.close()
    return stream


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    await _somebody(tmp_path, database)
    async with console(tmp_path, database) as made:
        yield made


async def test_a_session_that_is_none_is_a_note_or_nothing(at: Console) -> None:
    _, researcher = at
    for number in ("99", "-1", "x", "1; DROP", "9" * 40, None, "\u0661"):
        shown = await researcher.open(study="short", tab="sessions", session=number)
        assert value(shown["session-story"]) in ("", None), number


async def test_an_owner_sees_a_recruiters_id_only_by_a_deed_that_is_written_down(at: Console) -> None:
    room, researcher = at
    shown = await researcher.open(study="short", tab="sessions", session="1")
    assert visible(shown["session-reveal"])
    found = await researcher.on("session-reveal", "click", study="short", session="1")
    assert PID in value(found["session-id"])
    assert room.did == [("Ada", "viewed a recruiter ID", "short No. 1")]
    found = await researcher.on("sessions-find", "click", study="short", **{"sessions-person": PID})
    assert 'data-session="1"' in value(found["sessions-list"])
    assert room.did[1:] == [("Ada", "searched for a recruiter ID", "short")]
    found = await researcher.on("sessions-find", "click", study="short", **{"sessions-person": "another"})
    assert 'class="empty"' in value(found["sessions-list"])


async def test_people_are_listed_first_and_simulated_sessions_only_if_asked_for(
    tmp_path: Path, database: Database
) -> None:
    for origin in ("bot", "person", "bot"):
        await _begun(tmp_path, database, origin)
    async with console(tmp_path, database) as (_, researcher):
        shown = await researcher.open(study="short", tab="sessions")
        assert _listed(shown) == ["2"]
        assert 'data-hidden="2"' in value(shown["sessions-list"])
        for origin, numbers in (("bot", ["3", "1"]), ("", ["3", "2", "1"]), ("person", ["2"])):
            found = await researcher.on("sessions-origin", "input", study="short", **{"sessions-origin": origin})
            assert _listed(found) == numbers, origin
            assert f'data-matching="{len(numbers)}"' in value(found["sessions-list"])


async def test_each_filter_acts_at_once_and_a_recruiters_id_replaces_them_all(at: Console) -> None:
    _, researcher = at
    await researcher.open(study="short", tab="sessions")
    for name in NAMES:
        assert any((f"sessions-{name}", "input") in event.of for event in researcher.events), name
    here = {"study": "short", "sessions-text": "7"}
    assert _listed(await researcher.on("sessions-text", "input", **here)) == []
    found = await researcher.on("sessions-find", "click", **here, **{"sessions-person": PID})
    assert _listed(found) == ["1"]
    assert [value(found[f"sessions-{name}"]) for name in NAMES] == [""] * len(NAMES)
    found = await researcher.on("sessions-text", "input", **here, **{"sessions-person": PID})
    assert value(found["sessions-person"]) == ""
    found = await researcher.on("sessions-clear", "click", **here)
    assert (_listed(found), value(found["sessions-text"])) == (["1"], "")


async def test_a_note_that_was_begun_on_a_session_is_gone_on_the_next(tmp_path: Path, database: Database) -> None:
    for number in range(2):
        await _somebody(tmp_path, database, id_=f"{number}")
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions", session="1")
        typed = {"study": "short", "session-said": "about the first"}
        shown = await researcher.on("sessions-list", "click", **typed, session="2")
        assert value(shown["session-said"]) == ""
        for other in ("2", "", "99"):
            shown = await researcher.enter("sessions", study="short", session=other)
            assert value(shown["session-said"]) == "", other


async def test_another_study_opens_without_a_session(at: Console) -> None:
    """Its session of the same number is another one, which nobody chose."""
    _, researcher = at
    await researcher.open(study="short", tab="sessions", session="1")
    shown = await researcher.on("study", "input", study="other", tab="sessions", session="1", painted="short")
    assert value(shown["session"]) == ""
    assert value(shown["session-story"]) == ""
    passed = await researcher.on("study", "input", study="short", tab="sessions", session="1", painted="short")
    assert value(passed["session"]) is None, "the focus left the picker, and nothing else happened"


STUDY_ROOMS = ("studies", "monitoring", "sessions", "integrity", "export")


async def test_what_was_typed_about_a_study_is_gone_in_another(at: Console) -> None:
    """In each field that a button sends. The name of a new study and the builder's answers are about none."""
    _, researcher = at
    await researcher.open(study="short", tab="studies")
    painted: dict[str, Any] = {}
    for tab in STUDY_ROOMS:
        painted |= await researcher.enter(tab, study="short", session="1")
    fields = researcher.typed()
    assert len(fields) > 6
    about_none = re.compile("(new|b|people|server)-|results-why")  # which is emptied whenever it is shown
    for name in sorted(name for name in fields if not about_none.match(name)):
        update = painted[name]
        assert not isinstance(update, Mapping) or "value" in update, name


async def test_passing_a_filter_leaves_the_list_as_it_is(at: Console) -> None:
    """Gradio says that something was chosen each time that the focus leaves a list of choices."""
    _, researcher = at
    await researcher.open(study="short", tab="sessions")
    found = await researcher.on("sessions-find", "click", study="short", **{"sessions-person": PID})
    shown = {name: value(found[name]) for name in ("sessions-listed", *(f"sessions-{name}" for name in NAMES))}
    passed = await researcher.on("sessions-flag", "input", study="short", **shown)
    assert value(passed["sessions-list"]) is None
    assert value(passed["sessions-person"]) is None
    chosen = await researcher.on("sessions-flag", "input", study="short", **{**shown, "sessions-flag": "leak"})
    assert _listed(chosen) == []
    again = await researcher.on("sessions-newest", "click", study="short", **shown)
    assert _listed(again) == ["1"]


async def test_a_date_that_is_being_typed_does_not_filter_yet(at: Console) -> None:
    _, researcher = at
    await researcher.open(study="short", tab="sessions")
    for typed, numbers in (("2", ["1"]), ("2999-1", ["1"]), ("2999-12-01", []), ("2999-13-01", ["1"])):
        found = await researcher.on("sessions-since", "input", study="short", **{"sessions-since": typed})
        assert _listed(found) == numbers, typed
        assert ("warned" in value(found["sessions-list"])) == (typed != "2999-12-01")


def _listed(shown: Mapping[str, Any]) -> list[str]:
    return re.findall(r'data-session="(\d+)"', value(shown["sessions-list"]))


async def _begun(folder: Path, database: Database, origin: str) -> None:
    runtime = SessionService(database, settings_for(folder), SystemClock())
    study = load_study(str(studies.short(folder)))
    runtime.prepare(study)
    await runtime.enrol(study, origin=origin)
    await runtime.close()


async def test_an_analyst_is_offered_no_identity_and_refused_one(at: Console) -> None:
    room, researcher = at
    room.as_("analyst", "Eve")
    shown = await researcher.open(study="short", tab="sessions", session="1")
    assert not any(visible(shown[name]) for name in ("session-reveal", "sessions-person", "sessions-find"))
    for component, more in (("session-reveal", {}), ("sessions-find", {"sessions-person": PID})):
        found = await researcher.on(component, "click", study="short", session="1", **more)
        assert "Only owners" in value(found["note"])
    assert PID.encode() not in b"".join(researcher.heard)
    assert room.did == []


async def test_an_analyst_notes_and_excludes_and_it_is_written_down(at: Console, database: Database) -> None:
    room, researcher = at
    room.as_("analyst", "Eve")
    await researcher.open(study="short", tab="sessions", session="1")
    here = {"study": "short", "session": "1"}
    found = await researcher.on("session-exclude", "click", **here, **{"session-said": " "})
    assert "give a reason" in value(found["note"])
    found = await researcher.on("session-note", "click", **here, **{"session-said": "rang <b>up</b>"})
    assert "rang &lt;b&gt;up&lt;/b&gt;" in value(found["session-story"])
    found = await researcher.on("session-exclude", "click", **here, **{"session-said": "a friend"})
    assert "a friend" in value(found["session-head"])
    assert '<tr class="excluded">' in value(found["sessions-list"])
    found = await researcher.on("session-include", "click", **here, **{"session-said": "no friend"})
    assert "Excluded:" not in value(found["session-head"])
    (stream,) = _streams(database)
    told = [(event.kind, event.data["who"]) for event in load(database, stream) if event.by == "researcher"]
    assert told == [("noted", "Eve"), ("excluded", "Eve"), ("included", "Eve")]
    assert [what for _, what, _ in room.did] == [DONE[kind] for kind, _ in told]


def _streams(database: Database) -> list[str]:
    with database.connect() as connection:
        return list(connection.exec_driver_sql("SELECT stream FROM session WHERE study = 'short'").scalars())


async def test_the_replay_shows_each_moment_with_what_was_answered_next(at: Console, database: Database) -> None:
    _, researcher = at
    await researcher.open(study="short", tab="sessions", session="1")
    (stream,) = _streams(database)
    events = load(database, stream)
    pages = {}
    for number in range(1, len(events) + 1):
        moved = {"study": "short", "session": "1", "session-moment": number}
        pages[number] = html.unescape(value((await researcher.on("session-moment", "input", **moved))["session-page"]))
    answered = next(event.seq for event in events if event.kind == "submitted" and "comment" in event.data)
    assert WORD in html.unescape(pages[answered - 1])
    assert "What do you think?" in pages[answered - 1]
    assert "What do you think?" not in pages[answered]
    replied = next(event for event in events if event.kind == "replied")
    assert replied.data["text"].partition("*")[0].strip()[:20] in html.unescape(pages[replied.seq])
    assert ["Writing…" in pages[seq] for seq in (replied.seq - 1, replied.seq)] == [True, False]
    assert all('sandbox=""' in page for page in pages.values())


async def test_a_replay_plays_to_the_end_and_stops(at: Console, database: Database) -> None:
    _, researcher = at
    await researcher.open(study="short", tab="sessions", session="1")
    (stream,) = _streams(database)
    count = len(load(database, stream))
    here = {"study": "short", "tab": "sessions", "session": "1", "session-speed": "16×"}
    tick = next(one for one in researcher.events if _ticks(researcher, one, "session-page"))
    shown = await researcher.on("session-play", "click", **here, **{"session-moment": count})
    assert value(shown["session-moment"]) == 1, "after the end it begins again"
    moments = []
    while value(shown["session-play"]) == PAUSE:
        moments.append(value(shown["session-moment"]))
        assert SHORTEST_S <= _timer(shown)["value"] <= LONGEST_S
        shown = await researcher.fire(tick, {**here, "session-moment": moments[-1]})
    assert [*moments, value(shown["session-moment"])] == list(range(1, count + 1))
    assert not _timer(shown)["active"]
    for more in ({"tab": "export"}, {"session": "99"}):
        assert not _timer(await researcher.fire(tick, {**here, "session-moment": 1, **more})).get("active")


async def test_arithmetic_is_told_as_its_participant_saw_it(tmp_path: Path, database: Database) -> None:
    await _somebody(tmp_path, database, "x + 7\n- 4 is *more* than 2*3*4?")
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions")
        shown = await researcher.enter("sessions", study="short", session="1")
        for part in ("session-story", "session-page"):
            assert '<p class="typed">x + 7\n- 4 is *more* than 2*3*4?</p>' in html.unescape(value(shown[part])), part


def _ticks(researcher: Researcher, event: Wired, output: str) -> bool:
    return ("tick" in [kind for _, kind in event.of]) and output in map(researcher._name, event.outputs)


def _timer(shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the answer sets of the timer; it has no elem_id."""
    return next(one for one in shown.values() if isinstance(one, Mapping) and "active" in one)


PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea></iframe><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "'; srcdoc=\"<script>\" x='",
    "[x](javascript:alert(1))",
    "![x](http://evil.test/pixel.png)",
    "<iframe src=//evil.test></iframe>",
    "\\(\\href{javascript:alert(1)}{x}\\)",
    "\\(\\text{<img/src=x/onerror=alert(1)>}\\)",
    "\\(\\text{</mtext><script>alert(1)</script>}\\)",
    "\\(\\style{position:fixed;inset:0}{x}\\)",
    "```mermaid\nclick A call alert()\n```",
    "${alert(1)} {{constructor.constructor('alert(1)')()}}",
    "<div style='position:fixed;inset:0'>",
)
HARM = re.compile(
    r"<(script|img|svg|iframe|object|embed|form)\b|\son\w+\s*=|javascript:\w+\(.*?\)\s*[\"']", re.IGNORECASE
)
BOMBS = {
    "emphasis": ("*a_ " * 1000)[:4000],
    "brackets": "[" * 4000,
    "formulas": "\\(" * 2000,
    "roots": "\\(" + "\\sqrt" * 600 + "x\\)",
    "table": "|a" * 400 + "\n" + "|-" * 400 + "\n" + "|a" * 400,
    "quotes": ">" * 4000,
    "line": "x" * 4000,
    "right to left": "\u202e" * 1000 + "evil",
}


async def test_a_hostile_text_is_only_text_in_the_researchers_tab(tmp_path: Path, database: Database) -> None:
    for number, payload in enumerate(PAYLOADS):
        await _somebody(tmp_path, database, payload, f"{number}")
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions")
        for number in range(1, len(PAYLOADS) + 1):
            shown = await researcher.enter("sessions", study="short", session=f"{number}")
            for name in ("session-head", "session-story", "sessions-list"):
                assert not HARM.search(_tags(value(shown[name]))), (name, PAYLOADS[number - 1])
            (document,) = re.findall(r'srcdoc="([^"]*)"', value(shown["session-page"]))
            assert not HARM.search(_tags(html.unescape(document)).replace("<form", "")), PAYLOADS[number - 1]


def _tags(page: str) -> str:
    """Its tags alone: what a browser would make elements of."""
    return " ".join(re.findall(r"<[a-zA-Z/][^>]*>", page))


async def test_a_text_that_is_heavy_to_render_is_shown_as_typed(tmp_path: Path, database: Database) -> None:
    for name, bomb in BOMBS.items():
        await _somebody(tmp_path, database, bomb, name)
    async with console(tmp_path, database) as (_, researcher):
        await researcher.open(study="short", tab="sessions")
        for number, name in enumerate(BOMBS, 1):
            shown = await researcher.enter("sessions", study="short", session=f"{number}")
            for part in ("session-story", "session-page"):
                told = html.unescape(value(shown[part]))
                assert len(told) < 100_000, (name, part)
                assert told.count("<") < 2_000, (name, part)
                assert told.count("<msqrt") <= 40, (name, part)
