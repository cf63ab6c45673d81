"""One participant's life in any order of clicks, tabs, reloads, devices, waits, withdrawals, returns and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from experiments.errors import Refused
from experiments.session.engine import fold
from experiments.study.location import State
from storage import tables
from storage.db.engine import open_database
from storage.registers.participants import ParticipantId, Participants
from tests.fakes import life
from tests.fakes.http_bot import Act, Answer, HttpBot
from tests.fakes.proofs import signed
from tests.fakes.served import SECRET, ticket
from tests.wiring.sound import Logs, check_all, logs_of, rows

PID = "5f3a0c6e9d1b2a7c4e8f0d12"
ONCE = "take part only once"
WAITS_S = (1, 3, 10, 65, 100, 190, 700, 3700, 8000, 3 * 86400)
Told = TypeVar("Told")

# Two of one browser, and one of another.
tabs = st.integers(0, 2)
# Which process serves a request.
turns = st.sampled_from((0, 0, 0, 1))


class Life(RuleBasedStateMachine):
    """A person with a recruiter's id, two browsers and three tabs, at a study that two processes serve."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.clicks = 0
        self.old: list[tuple[HttpBot, str, Act, bool]] = []

    @initialize(
        again=st.sampled_from(("resume", "refuse", "new_session")), seed=st.integers(0, 99), ahead=st.integers(0, 14)
    )
    def come(self, again: str, seed: int, ahead: int) -> None:
        folder = Path(self.folder.name)
        self.again, self.study = again, life.study(folder, again)
        self.clock = VirtualClock(10**15)
        self.database = open_database(f"sqlite:///{folder}/parley.db")
        self.people = Participants(self.database, SECRET)
        self.servers = life.Servers(folder, self.database, self.clock, self.study)
        first = life.tab(self.servers, "first")
        self.tabs = [first, life.tab(self.servers, "second", first), life.tab(self.servers, "elsewhere")]
        self.bot = RandomBot(str(seed))
        self.arrive(0, "s1", 0)
        self.act(0, 0, ahead, False)

    def run_(self, doing: Awaitable[Told]) -> Told:
        return self.loop.run_until_complete(doing)  # type: ignore[arg-type]

    def logs(self) -> Logs:
        return logs_of(self.database)

    def settle(self) -> None:
        for server in self.servers.all:
            for stream in self.logs():
                self.run_(server.runtime.settled(stream))

    def there(self, number: int, turn: int) -> HttpBot | None:
        """A tab that has come to the study, and has just looked; None if its browser never came."""
        tab = self.tabs[number]
        self.servers.turn = turn
        if "parley" not in tab.client.cookies:
            return None
        self.run_(tab.look())
        return tab

    def click(self, tab: HttpBot, act: Act) -> Answer:
        """Send an action; whatever is refused leaves no trace."""
        before, drafts = self.logs(), rows(self.database, tables.drafts)
        answer = self.run_(tab.redo(act))
        after = self.logs()
        acted = [event for stream, log in after.items() for event in log[len(before.get(stream, ())) :]]
        if answer.note:
            assert not [event for event in acted if event.by == "participant"], (act, answer.note)
            assert after[tab.stream][: len(before[tab.stream])] == before[tab.stream]
            assert acted or drafts == rows(self.database, tables.drafts)
        return answer

    def intend(self, tab: HttpBot, kind: str, values: dict[str, Any]) -> Act:
        """A click on the screen that the tab shows, with a key of its own."""
        self.clicks += 1
        return tab.intend(kind, values, key=f"click-{self.clicks:04d}")

    @rule(number=tabs, turn=turns, steps=st.integers(1, 8), crash=st.booleans())
    def act(self, number: int, turn: int, steps: int, crash: bool) -> None:
        """Look, take a while, do what is possible, some steps on; perhaps the process is started anew in a reply."""
        for _ in range(steps):
            tab = self.there(number, turn)
            if tab is None or not tab.screen.actions:
                return
            self.clock.advance(6)
            self.choose(tab, *self.bot.act(tab.screen))
            if crash and tab.screen.panel.chat and tab.screen.panel.chat.waiting:
                self.run_(self.servers.restart())
            self.settle()

    @rule(number=tabs, turn=turns, how=st.sampled_from(("decline", "extend", "rate", "retry")))
    def choose_what_is_seldom(self, number: int, turn: int, how: str) -> None:
        tab = self.there(number, turn)
        if tab is not None and how in tab.screen.actions:
            self.choose(tab, how, {})

    def choose(self, tab: HttpBot, kind: str, values: dict[str, Any]) -> None:
        act = self.intend(tab, kind, values)
        answer = self.click(tab, act)
        self.old.append((tab, tab.stream, act, not answer.note))

    @precondition(lambda self: self.old)
    @rule(data=st.data(), turn=turns)
    def click_in_a_tab_that_is_behind(self, data: st.DataObject, turn: int) -> None:
        tab, stream, act, _ = data.draw(st.sampled_from(self.old[-5:]))
        state = fold(self.logs()[tab.stream])
        self.servers.turn = turn
        answer = self.click(tab, replace(act, key=f"again-{act.key}"))
        if stream != tab.stream or state.outcome or state.changed != act.seen:
            assert answer.note, (act, state.changed)
        self.settle()

    @precondition(lambda self: self.old)
    @rule(data=st.data(), turn=turns)
    def send_the_same_click_again(self, data: st.DataObject, turn: int) -> None:
        tab, stream, act, taken = data.draw(st.sampled_from(self.old[-5:]))
        before = self.logs()
        self.servers.turn = turn
        answer = self.click(tab, act)
        if not taken or stream != tab.stream:
            return
        new = self.logs()[stream][len(before[stream]) :]
        assert not [event for event in new if event.by == "participant"]
        forgotten = before[stream][-1].kind == "withdrew" and act.kind != "withdraw"
        assert forgotten or not answer.note, answer.note

    @rule(number=tabs, turn=turns)
    def click_in_two_tabs_at_once(self, number: int, turn: int) -> None:
        tab = self.there(number, turn)
        if tab is None or not tab.screen.actions:
            return
        acts = [self.intend(tab, *self.bot.act(tab.screen)) for _ in range(2)]
        before = self.logs()[tab.stream]

        async def both() -> None:
            await asyncio.gather(*(tab.redo(act) for act in acts))

        self.run_(both())
        self.settle()
        new = self.logs()[tab.stream][len(before) :]
        assert len({event.key for event in new if event.key}) <= 1

    @rule(number=tabs, turn=turns)
    def reload(self, number: int, turn: int) -> None:
        self.there(number, turn)

    @rule(number=tabs, turn=turns, stale=st.booleans())
    def type_without_sending(self, number: int, turn: int, stale: bool) -> None:
        tab = self.tabs[number] if stale else self.there(number, turn)
        if tab is None or tab.answer is None:
            return
        typed = {"path": tab.screen.path, "values": {"thought": "Well"}}
        self.run_(tab.send("POST", "/api/draft", typed))
        told = [{"kind": "here", "path": tab.screen.path, "ago_ms": 0}]
        self.clicks += 1
        self.run_(tab.send("POST", "/api/telemetry", {"key": f"{self.clicks:032x}", "records": told}))

    @rule(seconds=st.sampled_from(WAITS_S))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(turn=turns)
    def sweep(self, turn: int) -> None:
        self.servers.turn = turn
        self.run_(self.servers.runtime.sweep())

    @rule(number=tabs, turn=turns, chance=st.integers(0, 3))
    def withdraw(self, number: int, turn: int, chance: int) -> None:
        tab = self.tabs[number]
        if chance < 3 or tab.answer is None:
            return
        self.servers.turn = turn
        state = fold(self.logs()[tab.stream])
        act = self.intend(tab, "withdraw", {})
        answer = self.click(tab, act)
        self.old.append((tab, tab.stream, act, not answer.note))
        assert bool(answer.note) == (state.outcome == "withdrawn")
        assert answer.screen is not None
        assert answer.screen.outcome == "withdrawn"

    @rule(number=tabs, submission=st.sampled_from(("s1", "s1", "s2", "s3")), turn=turns)
    def arrive(self, number: int, submission: str, turn: int) -> None:
        """Come by the recruiter's link, perhaps with another submission; one has one session, or the next if ended."""
        self.servers.turn = turn
        person = ParticipantId("prolific", PID, submission)
        known = self.people.known(life.NAME, person)
        if known is not None:  # let the clock do what is due
            self.run_(self.servers.runtime.sweep())
        state = fold(self.logs()[known.stream]) if known else State()
        link = f"/s/{life.NAME}{signed(life.NAME, 'prolific', PID, SESSION_ID=submission)}"
        tab = self.tabs[number]
        self.run_(tab.send("GET", link))
        answer = self.run_(tab.send("POST", link, data=ticket(life.NAME)))
        another = known is not None and not known.same and bool(state.outcome)
        if another and self.again == "refuse":
            assert answer.status_code == 200
            assert ONCE in answer.text
            return
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        self.run_(tab.look())
        assert known is None or (tab.stream != known.stream) == (another and self.again == "new_session")
        kept = self.people.reveal(tab.stream)
        assert kept == (None if state.outcome == "withdrawn" else person)

    @rule(turn=turns)
    def restart(self, turn: int) -> None:
        self.servers.turn = turn
        self.run_(self.servers.restart())

    @rule(turn=turns)
    def a_researcher_notes(self, turn: int) -> None:
        self.servers.turn = turn
        for stream, log in self.logs().items():
            noting = self.servers.runtime.note(stream, {"text": "rang up"})
            if log[-1].kind == "withdrew":
                with pytest.raises(Refused):
                    self.run_(noting)
            else:
                self.run_(noting)

    @invariant()
    def every_session_is_sound(self) -> None:
        check_all(self.database, self.study, *(server.runtime for server in self.servers.all))

    @invariant()
    def nobody_has_two_live_sessions(self) -> None:
        states = [fold(log) for log in self.logs().values()]
        assert len([state for state in states if not state.outcome]) <= 1
        assert len(states) == 1 or self.again == "new_session"

    def teardown(self) -> None:
        try:
            if hasattr(self, "servers"):
                self._ends()
        finally:
            self.loop.close()
            self.folder.cleanup()

    def _ends(self) -> None:
        try:
            self.clock.advance(10 * 86400)
            self.servers.turn = 0
            self.run_(self.servers.runtime.sweep())
            assert all(fold(log).outcome for log in self.logs().values())
            self.every_session_is_sound()
        finally:
            self.run_(self.servers.close())
            for tab in (self.tabs[0], self.tabs[2]):
                self.run_(tab.client.aclose())
            self.database.dispose()


TestLife = Life.TestCase
if settings.get_current_profile_name() != "soak":  # without shrinking, which takes longer than a test may
    TestLife.settings = settings(
        max_examples=5, stateful_step_count=20, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.mark.parametrize("ahead", [pytest.param(n, marks=() if n % 5 == 2 else pytest.mark.soak) for n in range(15)])
def test_whoever_is_left_for_days_is_ended_in_one_round(ahead: int) -> None:
    life = Life()
    life.come(again="resume", seed=0, ahead=ahead)
    life.teardown()
