"""A rehearsal at a running server: shown where it is asked for, mixed with nothing, gone after one command."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.session.signed_links import (
    HOUR_S,
    REHEARSAL_PARAMETER,
    RehearsalLinks,
    RehearsedVisitor,
)
from app.studies.loader import read_yaml
from app.web.console.session_filters import OF_PEOPLE
from storage import tables
from storage.log.rehearsals import rehearsed_sessions
from storage.registers.participants import Participants
from storage.reports.sessions import SessionQuery, sessions
from tests.fakes import studies
from tests.fakes.commanding import Done, parley
from tests.fakes.databases import read_tables, rows
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served, serving_aside, settings_for
from tests.wiring.reading import check_sound, query

pytestmark = pytest.mark.nightly

PEOPLE = 6
FAST = ("--speed", "1000", "--over", "1")
REAL = "?PROLIFIC_PID=5f3a0c6e9d1b2a7c4e8f0d12&SESSION_ID=s1"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server with a study of Prolific's and narrow limits of rates."""
    raw = read_yaml(studies.short(tmp_path))
    raw["recruitment"] = {"channels": ["prolific"]}
    raw["bonus"] = [{"per": "completion", "amount": 1}]
    narrow = {"sessions_per_address_per_hour": 1, "messages_per_minute": 1, "requests_per_second": 2.0}
    settings = settings_for(tmp_path, **narrow, request_burst=20, address_rate_multiplier=2)
    with serving_aside(settings, studies.write(tmp_path, raw)) as running:
        yield running


def run(served: Served, folder: Path, *words: str) -> Done:
    return parley(*words, folder=folder, PARLEY_SECRET=SECRET)


def rehearse(served: Served, folder: Path, *words: str) -> dict[str, Any]:
    done = run(served, folder, "rehearse", "short", "-n", f"{PEOPLE}", "--url", served.url, "--json", *words)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


async def real_person(served: Served) -> None:
    async with HttpBot(served.url, "1", patience_s=60) as bot:
        await bot.arrive("short", REAL)
        while not bot.screen.ended:
            await bot.step()


def everything(served: Served) -> dict[str, Any]:
    own = {n: rows(served.database, table) for n, table in tables.metadata.tables.items() if table is not tables.deeds}
    return {**own, **read_tables(served.database)}


def test_everybody_comes_is_shown_and_is_removed(served: Served, tmp_path: Path) -> None:
    asyncio.run(real_person(served))
    before = everything(served)
    told = rehearse(served, tmp_path, *FAST)
    gone = sum(told["outcomes"].values()) + told["dropped_out"]
    assert (gone, told["gave_up"], told["stopped"], told["refused_requests"]) == (PEOPLE, {}, False, 0)
    assert told["outcomes"]["complete"] > 0
    assert told["replies"] > told["failed_replies"] == 0
    assert told["slowest_click_s"] > 0
    check_origins(served)
    check_commands(served, tmp_path)
    check_list(served)
    removed = run(served, tmp_path, "rehearse", "short", "--remove", "--yes", "--json")
    assert json.loads(removed.stdout)["sessions"] == PEOPLE
    assert everything(served) == before
    ((who, about),) = query(served.database, "SELECT who, about FROM deed WHERE what LIKE 'removed a rehearsal%'")
    assert (who, about) == ("command line", "short")
    check_sound(served.database)


def check_origins(served: Served) -> None:
    """Each first event has the origin, and each session an id that no recruiter gives."""
    found = query(served.database, "SELECT data FROM event WHERE kind = 'enrolled' AND seq = 1")
    origins = Counter(json.loads(data)["origin"] for (data,) in found)
    assert origins == {"person": 1, "rehearsal": PEOPLE}
    people = Participants(served.database, SECRET)
    for stream in rehearsed_sessions(served.database, "short"):
        person = people.reveal(stream)
        assert person is not None
        assert (person.recruiter, person.id.partition("-")[0]) == ("prolific", "rehearsal")


def check_commands(served: Served, folder: Path) -> None:
    """What the commands show: participants unless the rehearsal is asked for."""
    for origin, number in ((), 1), (("--origin", "rehearsal"), PEOPLE):
        status = json.loads(run(served, folder, "show", "status", "short", *origin, "--json").stdout)
        assert sum(status["outcomes"].values()) == number
        pay = json.loads(run(served, folder, "payments", "short", "-o", "out", *origin, "--dry-run", "--json").stdout)
        assert len(pay["sessions"]) == number
        assert all(name.startswith("REHEARSAL-") is bool(origin) for name in pay["files"])
        out = f"exported-{number}"
        done = run(served, folder, "export", "short", "--schema", "tidy", "-o", out, *origin)
        assert done.returncode == 0, done.stderr
        assert ("REHEARSAL" in done.stdout) is ("REHEARSAL" in (folder / out / "README.md").read_text()) is bool(origin)
        lines = (folder / out / "sessions.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + number
    run(served, folder, "payments", "short", "-o", "out", "--origin", "rehearsal")
    assert not (folder / "out").exists()
    assert query(served.database, "SELECT count(*) FROM event WHERE kind = 'paid'") == [(0,)]


def check_list(served: Served) -> None:
    """The list of sessions has a rehearsal's where they are asked for."""
    for wanted, number in (SessionQuery(origins=OF_PEOPLE), 1), (SessionQuery(origins=("rehearsal",)), PEOPLE):
        found = sessions(served.database, "short", wanted, time.time_ns() // 1000)
        assert len(found.entries) == number


def test_nobody_else_can_begin_a_rehearsed_session(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = RehearsedVisitor("short", "x", "prolific", "rehearsal-x")
    ours, theirs = RehearsalLinks(SECRET), RehearsalLinks("another secret of thirty-two chars")
    other = RehearsedVisitor("other", "x")
    forged = [theirs.path(visitor), f"/s/short?{REHEARSAL_PARAMETER}=", f"/s/short?{REHEARSAL_PARAMETER}=x&{REAL[1:]}"]
    forged.append(ours.path(other).replace("/s/other", "/s/short"))
    for path in forged:
        assert httpx2.get(f"{served.url}{path}", timeout=60).status_code == 403
    for links in (ours, theirs):
        assert ours.holds(links.token(visitor)) is (links is ours)
    assert httpx2.get(f"{served.url}{ours.path(visitor)}", timeout=60).status_code == 200
    token, later = ours.token(visitor), time.time() + HOUR_S + 5
    with monkeypatch.context() as patch:
        patch.setattr("itsdangerous.timed.time.time", lambda: later)
        assert ours.read(token, "short") is None
    assert rows(served.database, tables.sessions) == []


def test_arms_whose_models_break_rules_at_known_rates_are_found_to_do_so(tmp_path: Path) -> None:
    with serving_aside(settings_for(tmp_path), "tutor-or-teller") as served:
        words = ("rehearse", "tutor-or-teller", "--fidelity", "--url", served.url, *FAST, "--json")
        first = json.loads(run(served, tmp_path, *words, "-n", "5").stdout)
        assert first["outcomes"] == {"complete": 10}, "so many in each of two arms, and nobody leaves"
        told = json.loads(run(served, tmp_path, *words, "-n", "20").stdout)
        assert (told["gone_before"], told["sessions"]) == (10, 40)
        other = json.loads(run(served, tmp_path, *words, "-n", "1", "--seed", "2").stdout)
        assert (other["people"], other["sessions"]) == (2, 2), "a rehearsal with another seed is another one"
        real = json.loads(run(served, tmp_path, "rehearse", "tutor-or-teller", "--remove", "--yes", "--json").stdout)
        assert real["sessions"] == 42
    broken = {"tutor-asks": 0.15, "tutor-holds-back": 0.15, "teller-answers": 0.1, "teller-is-short": 0.1}
    for row in told["adherence_by_arm"]:
        assert row["low"] <= row["kept"] <= row["high"]
        assert abs(row["kept"] - 1 + broken.get(row["rule"], 0)) < 0.2  # about four standard errors
    found = {row["what"]: row["so"].split(",")[0] for row in told["arms_compared"]}
    assert {what: found[what] for what in broken} == dict.fromkeys(broken, "differ")
    assert (found["nobody-names-a-model"], found["words of a reply"]) == ("no difference found", "differ")
    assert "seconds to the first word" in found
    assert 0 < len(told["worst_conversations"]) <= 10


def test_a_study_without_rules_has_no_fidelity_to_rehearse(served: Served, tmp_path: Path) -> None:
    done = run(served, tmp_path, "rehearse", "short", "--fidelity", "--url", served.url)
    assert done.returncode == 2
    assert rehearsed_sessions(served.database, "short") == {}
