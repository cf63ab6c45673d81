"""A person's life over four waves: late, early, twice, on two devices, in other time zones, through changes of daylight
saving, withdrawn between waves, while servers are down or full or the study is paused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.clock import VirtualClock
from experiments.events import Event
from experiments.session.engine import fold
from experiments.session.waves import WaveHistory, WaveVisit, next_window, wave_schedule
from experiments.study.sections.waves import is_zone
from storage import tables
from storage.db.engine import open_database
from storage.registers.participants import ParticipantId, Participants
from storage.registers.persons import people
from storage.registers.study_status import set_status
from tests.fakes import life, waves
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed
from tests.fakes.served import SECRET, ticket
from tests.wiring.sound import check_gone, check_log, logs_of, rows

Told = TypeVar("Told")
PID, HOUR_US = "5f3a0c6e9d1b2a7c4e8f0d12", 3_600_000_000
# In each of them the clock is changed between the first wave and the last.
STARTS = {"2027-03-20 19:00": "2027-04-20", "2026-10-17 19:00": "2026-11-17"}
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "Mars/Olympus", "")
devices, zones = st.integers(0, 1), st.sampled_from(ZONES)
FORGOTTEN = {"study", "hash", "origin", "was"}


def as_of(visit: WaveVisit, at_us: int) -> WaveVisit:
    """A session as it was then."""
    ended = visit.ended_us is not None and visit.ended_us <= at_us
    return visit if ended else WaveVisit(visit.wave, visit.begun_us)


class Weeks(RuleBasedStateMachine):
    """One person with a proven id and two devices, at a study for a single person that two processes serve."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.submission = 0

    @initialize(
        start=st.sampled_from(sorted(STARTS)), again=st.sampled_from(("resume", "refuse", "new_session")), zone=zones
    )
    def begin(self, start: str, again: str, zone: str) -> None:
        folder = Path(self.folder.name)
        last = {**waves.WAVES[3], "opens": {"on": STARTS[start], "at": "08:30"}}
        recruitment = {"channels": ["prolific"], "id_proof": "required", "repeat_participation": again}
        self.study = waves.study(waves=[*waves.WAVES[:3], last], recruitment=recruitment, quotas=[{"max": 1}])
        self.clock = VirtualClock(waves.us(start))
        self.database = open_database(f"sqlite:///{folder}/parley.db")
        self.servers = life.Servers(folder, self.database, self.clock, self.study)
        self.devices = [life.tab(self.servers, "phone"), life.tab(self.servers, "desk")]
        self.come(0, zone, 0, True)

    def run_(self, doing: Awaitable[Told]) -> Told:
        return self.loop.run_until_complete(doing)  # type: ignore[arg-type]

    @property
    def enrolled(self) -> list[Event]:
        return [log[0] for log in logs_of(self.database).values() if log[0].kind == "enrolled"]

    async def arrive(self, device: HttpBot, zone: str) -> str:
        """Follow the link, and click: to the session, or to a page."""
        link = f"/s/weeks{signed('weeks', 'prolific', PID, SESSION_ID=f's{self.submission}')}"
        await device.send("GET", link)
        answer = await device.send("POST", link, data=ticket("weeks", zone=zone))
        if answer.headers.get("location") == "/":
            return "session"
        if answer.status_code == 303:
            answer = await device.send("GET", answer.headers["location"])
        return answer.text.partition('data-page="')[2].partition('"')[0]

    @rule(device=devices, zone=zones, turn=st.integers(0, 1), anew=st.booleans())
    def come(self, device: int, zone: str, turn: int, anew: bool) -> None:
        self.servers.turn, self.submission = turn, self.submission + anew
        before = {*logs_of(self.database)}
        wanted, closed = self.expected()
        page = self.run_(self.arrive(self.devices[device], zone))
        new = {*logs_of(self.database)} - before
        if wanted in ("open", "late"):
            assert (page, len(new)) == (("closed", 0) if closed else ("session", 1))
        elif wanted == "upcoming":
            assert (page, new) == ("closed" if closed else "next_part", set())
        elif before:
            assert not new or self.gone or self.study.file.recruitment.repeat_participation == "new_session"
        if new and wanted != "none":
            (stream,) = new
            kept = Participants(self.database, SECRET).reveal(stream)
            assert kept == ParticipantId("prolific", PID, f"s{self.submission}")
            assert not is_zone(zone) or logs_of(self.database)[stream][0].data["zone"] == zone

    def expected(self) -> tuple[str, bool]:
        """The state of the person's next wave, and whether the study is closed for them."""
        found = people(self.database, "weeks", "person")
        window = next_window(wave_schedule(self.study, found[-1].history, self.clock.now_us())) if found else None
        return window.state if window else "none", self.status == "closed"

    status = "open"

    @rule(zone=zones)
    def come_on_both_devices_at_once(self, zone: str) -> None:
        async def both() -> list[str]:
            return await asyncio.gather(*(self.arrive(device, zone) for device in self.devices))

        wanted, closed = self.expected()
        pages = self.run_(both())
        if wanted in ("open", "late") and not closed:
            assert pages == ["session", "session"]

    @rule(
        device=devices, zone=zones, late=st.sampled_from(("opens_us", "opens_us", "closes_us")), turn=st.integers(0, 1)
    )
    def take_the_next(self, device: int, zone: str, late: str, turn: int) -> None:
        self.go_on(device, False)
        self.wait_for_the_moment(late, 0)
        self.come(device, zone, turn, True)
        self.go_on(device, False)

    @rule(device=devices, stop=st.booleans())
    def go_on(self, device: int, stop: bool) -> None:
        """Click, once or to the end of the session."""
        tab = self.devices[device]
        while "parley" in tab.client.cookies and self.run_(tab.look()).actions:
            self.clock.advance(6)
            kind = "submit" if "submit" in tab.screen.actions else tab.screen.actions[0]
            self.run_(tab.do(kind, {"agreed": "on"}))
            if stop:
                break

    @rule(hours=st.sampled_from((1, 5, 11, 23, 25, 47, 100)))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours * 3600)

    @rule(which=st.sampled_from(("opens_us", "closes_us", "until_us")), off_us=st.sampled_from((-1, 0, HOUR_US)))
    def wait_for_the_moment(self, which: str, off_us: int) -> None:
        for person in people(self.database, "weeks", "person")[-1:]:
            window = next_window(wave_schedule(self.study, person.history, self.clock.now_us()))
            at_us = getattr(window, which) if window else None
            self.clock.set(max(self.clock.now_us(), (at_us or 0) + off_us))

    @rule(turn=st.integers(0, 1), days=st.sampled_from((0, 0, 3)))
    def restart(self, turn: int, days: int) -> None:
        """A process is started anew, perhaps after days without it."""
        self.clock.advance(days * 86_400)
        self.servers.turn = turn
        self.run_(self.servers.restart())

    @rule(kind=st.sampled_from(("paused", "paused", "opened", "opened", "closed")))
    def decide(self, kind: str) -> None:
        if kind != self.status and (kind, self.status) != ("paused", "closed"):
            data = {} if kind == "opened" else {"why": "enough"}
            set_status(self.database, "weeks", kind, data, by="researcher", at_us=self.clock.now_us())  # type: ignore[arg-type]
            self.status = kind
            self.clock.advance(60)

    @rule(device=devices, chance=st.integers(0, 9))
    def withdraw(self, device: int, chance: int) -> None:
        tab = self.devices[device]
        if chance == 0 and "parley" in tab.client.cookies:
            self.run_(tab.look())
            self.run_(tab.do("withdraw", {}))

    @property
    def gone(self) -> bool:
        return any(log[0].kind == "withdrew" for log in logs_of(self.database).values())

    @invariant()
    def every_log_is_legal(self) -> None:
        for stream, log in logs_of(self.database).items():
            state = fold(log)
            check_log(log, state)
            if state.outcome == "withdrawn":
                check_gone(self.database, stream)
                assert {*log[0].data} == FORGOTTEN

    @invariant()
    def a_person_has_one_session_a_wave_in_order_and_the_same_factors(self) -> None:
        logs = logs_of(self.database)
        entries = {entry.stream: entry for entry in rows(self.database, tables.sessions)}
        for person in people(self.database, "weeks", "person"):
            started = [logs[stream] for stream in person.streams.values()]
            ids = [wave.id for wave in self.study.waves]
            assert [*person.streams] == [id_ for id_ in ids if id_ in person.streams]
            drawn = {fold(log).factors["help"] for log in started if fold(log).factors}
            assert len(drawn) <= 1
            for stream, log in zip(person.streams.values(), started, strict=True):
                assert (entries[stream].person, entries[stream].wave) == (log[0].data["person"], log[0].data["wave"])
            if len(self.enrolled) == len(person.streams):
                assert self.everything() == [*person.streams.values()]
        assert len([entry for entry in entries.values() if entry.person]) == len(self.enrolled)

    def everything(self) -> list[str]:
        """What is found by the recruiter's id."""
        found = Participants(self.database, SECRET).sessions("weeks", ParticipantId("prolific", PID))
        logs = logs_of(self.database)
        return [stream for stream in found if logs[stream][0].kind == "enrolled"]

    @invariant()
    def each_wave_was_open_when_it_was_started(self) -> None:
        logs = logs_of(self.database)
        for person in people(self.database, "weeks", "person"):
            heads = [logs[stream][0] for stream in person.streams.values()]
            for number, head in enumerate(heads[1:], 1):
                visits = tuple(as_of(visit, head.at_us) for visit in person.history.visits[:number])
                zone = next((one.data["zone"] for one in reversed(heads[:number]) if "zone" in one.data), "")
                window = next_window(wave_schedule(self.study, WaveHistory(visits, zone), head.at_us))
                wanted = "late" if "late" in head.data else "open"
                assert window is not None
                assert (window.wave, window.state, window.until_us) == (
                    head.data["wave"], wanted, head.data.get("until_us"),
                )  # fmt: skip

    def teardown(self) -> None:
        try:
            if hasattr(self, "servers"):
                self.run_(self.servers.close())
                for tab in self.devices:
                    self.run_(tab.client.aclose())
                self.database.dispose()
        finally:
            self.loop.close()
            self.folder.cleanup()


TestWeeks = Weeks.TestCase
TestWeeks.settings = settings(
    max_examples=5, stateful_step_count=25, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)
