"""Withdrawal: nothing stays but that there was somebody, and nothing is written about them afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.clock import VirtualClock
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from storage.registers.participants import Participants
from storage.reports.reproducibility import recompute_draws
from tests.fakes import life, studies
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, Served, serving, settings_for
from tests.fakes.sitting import Sitting
from tests.wiring.reading import check_sound, exported, facts, query

pytestmark = pytest.mark.anyio


CANARY, PID = "zq_canary_qz", "5f3a0c6e9d1b2a7c4e8f0d12"


async def took_part(served: Served, bot: HttpBot, until: str | None) -> None:
    """Somebody says things, and stops at a place or goes on to the end."""
    await bot.arrive("short", f"?PROLIFIC_PID={PID}&SESSION_ID=s1")
    if until is None:
        await bot.finish()
    else:
        await bot.until(path=until)
        if until == "with_ai":
            await bot.do("say", {"text": f"I am {CANARY}"})
            await bot.look()


@pytest.mark.parametrize(("until", "how"), [("remarks", "page"), ("with_ai", "command"), (None, "page")])
async def test_nothing_stays_of_who_withdraws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: str | None, how: str
) -> None:
    settings = settings_for(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path / "tmp"))
    async with serving(settings, studies.short(tmp_path)) as served, HttpBot(served.url, "1", canary=CANARY) as bot:
        await took_part(served, bot, until)
        assert until == "remarks" or CANARY in everything(tmp_path)
        if how == "page":
            answer = await bot.do("withdraw", {}, path=f"/{CANARY}", seen=0)
            assert (answer.status, answer.note) == (200, "")
        else:
            done = parley("person", "withdraw", PID, "--study", "short", "--yes", folder=tmp_path, PARLEY_SECRET=SECRET)
            assert done.returncode == 0, done.stderr
            assert "was erased" in done.stdout
            late = await bot.do("submit", {"comment": CANARY, "agreed": "on"})
            assert late.note, "what is sent afterwards is refused"
        await bot.look()
        assert (bot.screen.outcome, bot.screen.panel.title) == ("withdrawn", "You have withdrawn")
        (fact,) = facts(served.database, bot.stream)
        assert (fact.kind, fact.path) == ("withdrew", "")
        assert set(fact.data) == {"study", "hash", "origin", "was"}
        assert Participants(served.database, SECRET).reveal(bot.stream) is None
        first = bot.stream
        await bot.arrive("short", f"?PROLIFIC_PID={PID}&SESSION_ID=s1")
        assert bot.stream == first, "the same link leads to the last page, and makes no new participant"
        assert query(served.database, "SELECT outcome FROM seat") == [("withdrawn",)]
        assert query(served.database, "SELECT by FROM erasure") == [("participant" if how == "page" else "researcher",)]
        check_sound(served.database)
        assert recompute_draws(served.database, "short").differences == ()
        assert CANARY not in exported(served.database, "short", tmp_path / "out")
    assert CANARY not in everything(tmp_path), "no byte of it is left in the database's files"
    assert not {CANARY, PID} & words_in(tmp_path), "nor in anything that was written beside them"
    again = parley("person", "withdraw", PID, "--yes", folder=tmp_path, PARLEY_SECRET=SECRET)
    assert "had been erased before" in again.stdout


def words_in(folder: Path) -> set[str]:
    """Which of the words that are looked for any file of a folder holds."""
    found = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    return {word for word in (CANARY, PID) if any(word.encode() in held for held in found)}


def everything(folder: Path) -> str:
    """Every byte of the database's files; read by another process, as closing a file here would end SQLite's locks."""
    files = sorted(map(str, folder.glob("parley.db*")))
    return subprocess.run(["cat", *files], capture_output=True, check=True).stdout.decode("latin-1")


async def test_who_declines_leaves_nothing_but_that_they_did(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), studies.short(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("short")
        hash_ = query(served.database, "SELECT hash FROM study")[0][0]
        here = {"kind": "here", "path": "consent", "ago_ms": 0}
        await bot.send("POST", "/api/telemetry", {"key": "0" * 32, "records": [here]})
        await bot.do("decline", {"agreed": "on", "comment": CANARY})
        assert (bot.screen.outcome, bot.screen.can_withdraw) == ("no_consent", False)
        enrolled, *told = facts(served.database, bot.stream)
        assert (enrolled.kind, enrolled.data["hash"]) == ("enrolled", hash_)
        assert [(fact.kind, dict(fact.data)) for fact in told] == [
            ("declined", {}), ("finished", {"outcome": "no_consent"}),
        ]  # fmt: skip
        for table in ("draft", "telemetry", "attempt", "user_answers", "conversations"):
            assert query(served.database, f'SELECT count(*) FROM "{table}"') == [(0,)], table
        assert query(served.database, "SELECT outcome, count(*) FROM seat GROUP BY outcome") == [("no_consent", 1)]
    assert CANARY not in everything(tmp_path)


async def test_costs_stay_counted_when_their_session_is_erased(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), studies.short(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await took_part(served, bot, None)
        before = query(served.database, "SELECT turn, model, prompt_tokens, completion_tokens FROM attempt")
        await bot.do("withdraw", {})
        assert before
        assert query(served.database, "SELECT turn, model, prompt_tokens, completion_tokens FROM attempt") == before
        assert query(served.database, "SELECT DISTINCT request, text FROM attempt") == [("{}", "")]


class Two(Sitting):
    """Two processes over one database, and somebody whom both know as they were after the consent."""

    def __init__(self, folder: Path, url: str) -> None:
        super().__init__(folder, life.study(folder, "resume"), VirtualClock(10**15), database_url=url)
        self.first, self.second = self.service, self.start()

    async def at(self, service: SessionService, kind: str, **values: str) -> LoadedSession:
        """A click on the screen that was seen last, served by one of the two."""
        seen = self.live.screen
        return await service.participant(self.live.stream, kind, seen.path, values, seen=seen.seen)


@pytest.fixture
async def two(tmp_path: Path, database_url: str) -> AsyncIterator[Two]:
    async with Two(tmp_path, database_url) as two:
        two.live = await two.first.enrol(two.study, origin="person")
        two.live = await two.at(two.first, "submit", agreed="on")
        assert await two.second.get(two.live.stream) == two.live
        yield two


async def test_an_old_process_writes_nothing_where_the_numbers_are_free_again(two: Two) -> None:
    await two.first.note(two.live.stream, {"text": "one more fact"})
    await two.at(two.first, "withdraw")
    with pytest.raises(Refused):
        await two.at(two.second, "submit", adult="yes")
    assert [event.kind for event in two.events] == ["withdrew"]


async def test_an_old_process_withdraws_what_is_there_and_not_what_it_knew(two: Two) -> None:
    await two.at(two.first, "submit", adult="no")
    await two.at(two.second, "withdraw")
    (fact,) = two.events
    assert (fact.kind, fact.data["was"]) == ("withdrew", "screened_out")
