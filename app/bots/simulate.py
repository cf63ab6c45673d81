"""Whole sessions without a browser: simulated users through the participants' door, on a virtual clock.

The same study and seed give the same sessions to the byte, where nothing but chance and models that play offline is in
them: their streams, seeds, times and words are all derived. A session that is already complete is left alone, and one
that was interrupted goes on where it was, so that the command can be stopped and repeated at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

from app.bots.tendencies import Tendencies
from app.bots.user_config import RANDOM, SimulatedUserConfig
from app.bots.users.base import UnusableReply
from app.clock import VirtualClock
from app.errors import ModelUnreached, UserFailed
from app.session.reminders.sender import remind_simulated
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from experiments.errors import Refused, StudyError, ValidationIssue
from experiments.events import PendingTask
from experiments.session.seeded_random import uniform
from experiments.session.state import current_location, is_later_wave
from experiments.session.waves import WaveWindow, next_window, wave_schedule
from experiments.study.location import State
from experiments.study.screen import Screen
from experiments.study.sections.recruitment import Quota
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.bonus import ATTENTION
from storage.registers.origins import Origin
from storage.reports.costs import USER

T = TypeVar("T")
TRIES = 2
# The reasons of errors by which no server was reached.
UNREACHED = ("connection", "timeout_connect")
AGAIN = "That cannot be used. {why}"
TOLD_CHARS = 200


@dataclass
class UserModel:
    """Speaks for the user of a session. A reply that cannot be read is asked for once more, with what is wrong; then
    the session stops, so what the log holds was said by the model."""

    runtime: SessionService
    study: Study
    model: str
    live: LoadedSession
    asked_before: int = 0
    """The number of calls where a session is resumed; so another reply is drawn there, not the same."""
    resumed_at: int = 0
    """The number of the last fact there."""

    async def __call__(self, messages: Sequence[Mapping[str, str]], read: Callable[[str], T]) -> T:
        """The result of `read` for the reply; raises UserFailed where there is none that can be read."""
        said = list(messages)
        fault = ""
        for number in range(TRIES):
            text = await self._reply(said, number)
            try:
                return read(text)
            except UnusableReply as unusable:
                fault = f"{unusable} It said: {text[:TOLD_CHARS]!r}"
                again = {"role": "user", "text": AGAIN.format(why=unusable)}
                said += [{"role": "assistant", "text": text}, again]
        raise UserFailed(f"{self.model} at {self.live.screen.path}, {TRIES} attempts: {fault}")

    async def _reply(self, said: Sequence[Mapping[str, str]], number: int) -> str:
        state, path = self.live.state, self.live.screen.path
        number += self.asked_before if state.seq == self.resumed_at else 0
        data = {
            "model": self.model,
            "messages": list(said),
            "seed": f"{state.seed}:{path}:{state.seq}:{USER}:{number}",
        }
        attempt = await self.runtime.ask_separately(self.live, self.study, PendingTask("reply", path, data, slot=USER))
        if (error := attempt.result.error) is not None:
            kind = ModelUnreached if error.reason in UNREACHED else UserFailed
            raise kind(f"{self.model} gave no reply at {path}: {error}")
        return attempt.result.text


# When simulated time begins: 2026-01-01 09:00 UTC.
START_US = 1_767_258_000_000_000
# How long after one another simulated participants arrive, on average.
ARRIVALS_S = 90.0
MOST_CLICKS = 5_000
DAY_US = 86_400_000_000
# How often in a row they ask again for a reply that a study's model does not give.
MOST_RETRIES = 20
# The same where its server cannot be reached: each of these requests was tried several times, for seconds.
MOST_UNREACHED = 3


@dataclass(frozen=True, slots=True)
class SimulatedSession:
    """Clicks, and time by the virtual clock; with waves of all a person's sessions, the last being `live`."""

    live: LoadedSession
    clicks: int
    minutes: float
    streams: tuple[str, ...]


async def simulate(
    service: SessionService, clock: VirtualClock, study: Study, count: int, seed: str
) -> AsyncIterator[SimulatedSession]:
    for label, arrives_us in arrivals(study, count, seed):
        clock.set(arrives_us)
        yield await simulate_session(service, clock, study, label)


def arrivals(study: Study, count: int, seed: str, config: SimulatedUserConfig = RANDOM) -> Iterator[tuple[str, int]]:
    arrival_us = START_US
    for number in range(count):
        label = label_of(study, seed, number) + config.label
        yield label, arrival_us
        arrival_us += round(2e6 * ARRIVALS_S * uniform(label, "arrival"))


def wait_until_open(clock: VirtualClock, screen: Screen) -> None:
    opens_us = screen.timing.opens_us if screen.timing else None
    if opens_us is not None and opens_us > clock.now_us():
        clock.set(opens_us)


def label_of(study: Study, seed: str, number: int) -> str:
    return f"{study.hash}:{seed}:{number}"


def seed_of(label: str) -> str:
    return f"bot:{label}"


def stream_of(label: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"parley:bot:{label}"))


async def simulate_session(
    service: SessionService,
    clock: VirtualClock,
    study: Study,
    label: str,
    closed_quotas: tuple[Quota, ...] = (),
    *,
    config: SimulatedUserConfig = RANDOM,
) -> SimulatedSession:
    """A session from enrolment to its end, in none of the cells that are `closed_quotas`, with all waves of the person;
    resumed where it stopped. Raises UserFailed where its user cannot go on, ModelUnreached where no other could either;
    what was done until then is kept."""
    session: LoadedSession | None = await _start_or_resume(service, clock, study, label, closed_quotas, config=config)
    played: list[SimulatedSession] = []
    while session is not None:
        played.append(await _play(service, clock, session, label, config=config))
        session = await _come_back(service, clock, played[-1].live, label, config=config)
    clicks, minutes = sum(one.clicks for one in played), sum(one.minutes for one in played)
    person = await service.person(stream=played[-1].live.stream) if study.waves else None
    streams = tuple(person.streams.values()) if person else tuple(one.live.stream for one in played)
    return SimulatedSession(played[-1].live, clicks, minutes, streams)


async def _play(
    service: SessionService, clock: VirtualClock, session: LoadedSession, label: str, *, config: SimulatedUserConfig
) -> SimulatedSession:
    study, wave = session.study, ""
    if is_later_wave(study, session.state):
        wave = f"{session.state.enrolled['wave']}."
        clock.set(max(clock.now_us(), session.state.events[-1].at_us))
    user = config.user(study, f"{label}:{wave}{session.state.seq}")
    before = await service.times_asked(session, USER) if config.model else 0
    voice = UserModel(service, config.speaking(session.study), config.model, session, before, session.state.seq)
    begun_us, retries = clock.now_us(), 0
    for clicks in range(MOST_CLICKS):
        await service.settled(session.stream)
        session = voice.live = await service.get(session.stream) or session
        screen = session.screen
        if screen.ended:
            return SimulatedSession(session, clicks, (clock.now_us() - begun_us) / 60e6, (session.stream,))
        action = await user.act(screen, voice)
        retries = retries + 1 if action.kind == "retry" else 0
        if retries:
            cause, unreached = _failure(session.state)
            if retries > (MOST_UNREACHED if unreached else MOST_RETRIES):
                said = f"at {screen.path} the study's model gave no reply in {retries} attempts{cause and f': {cause}'}"
                raise ModelUnreached(said) if unreached else UserFailed(said)
        values = dict(action.values)
        if action.by_chance and action.kind == "submit":
            chance = uniform(f"{label}:{wave}{session.state.seq}", "knows")
            values |= found_answers(session.study, session.state, Tendencies.of(label), chance)
        clock.advance(user.seconds(screen, values))
        wait_until_open(clock, screen)
        await _does(service, session, action.kind, values)
    raise StudyError(study.name, [ValidationIssue(session.screen.path, f"is still shown after {MOST_CLICKS} clicks")])


async def _come_back(
    service: SessionService, clock: VirtualClock, session: LoadedSession, label: str, *, config: SimulatedUserConfig
) -> LoadedSession | None:
    """The person's next session, which goes on or begins while its wave is open; None if they do not come back."""
    person = await service.person(stream=session.stream) if session.study.waves else None
    while person and (window := next_window(wave_schedule(session.study, person.history, clock.now_us()))):
        if window.state == "live":
            return await service.get(person.streams[window.wave])
        own = f"{label}:{window.wave}:{window.round}"
        comes_us = returns_us(window, own, late=config.late, never=config.never)
        until_us = window.until_us if comes_us is None else max(clock.now_us(), comes_us)
        if until_us is None:
            return None
        await remind_simulated(service, person, clock.now_us(), until_us)
        clock.set(until_us)
        if comes_us is not None:
            data = {
                key: value for key, value in session.state.enrolled.items() if key in ("language", "user", "models")
            }
            return await service.begin_wave(person, seed=seed_of(own), stream=stream_of(own), data=data)
    return None


def returns_us(window: WaveWindow, label: str, *, late: float, never: float) -> int | None:
    """Draw the time at which a person comes to a wave: `late` is the share that comes after it closed, within the
    grace, and `never` the share that does not; the others come soon rather than late. None if they never come."""
    returns, delay = uniform(label, "returns"), uniform(label, "delay")
    if window.opens_us is None or returns < never:
        return None
    closes_us = window.closes_us or window.opens_us + DAY_US
    if returns < never + late and window.until_us is not None and window.until_us > closes_us:
        return round(closes_us + (window.until_us - closes_us) * delay)
    return round(window.opens_us + (closes_us - window.opens_us) * delay**2)


def _failure(state: State) -> tuple[str, bool]:
    """Return the cause of the last failed reply, and True if its server was not reached."""
    failed = next((event.data for event in reversed(state.events) if event.kind == "failed"), {})
    return str(failed.get("cause", "")), failed.get("reason") in UNREACHED


async def _start_or_resume(
    service: SessionService,
    clock: VirtualClock,
    study: Study,
    label: str,
    closed_quotas: tuple[Quota, ...],
    *,
    config: SimulatedUserConfig,
) -> LoadedSession:
    """The session of a label, begun or found again; its time is that of its last fact."""
    stream = stream_of(label)
    session = await service.get(stream)
    if session is not None:
        clock.set(session.state.events[-1].at_us)
        return session
    offered = study.file.offered
    data = {"language": offered[UUID(stream).int % len(offered)]} if len(offered) > 1 else {}
    data = {**data, **config.enrolled_data(), **({"person": uuid5(NAMESPACE_URL, label).hex} if study.waves else {})}
    return await service.enrol(
        study, origin=Origin.BOT, seed=seed_of(label), stream=stream, closed_quotas=closed_quotas, data=data
    )


async def _does(service: SessionService, session: LoadedSession, kind: str, values: Mapping[str, Any]) -> None:
    """Let an action happen; where the clock was first and the screen is another, nothing does."""
    screen, key = session.screen, f"{session.state.seq}"
    try:
        await service.participant(session.stream, kind, screen.path, values, seen=screen.seen, key=key)
    except Refused as refused:
        if refused.reason not in ("stale", "ended"):
            raise


def correct_answers(session: LoadedSession) -> Mapping[str, Any]:
    """Answers that pass a check, as who reads with care would find them; nothing elsewhere."""
    place = current_location(session.study, session.state)
    return place.node.passing(place) if place is not None and isinstance(place.node, Step) else {}


def found_answers(study: Study, state: State, tendencies: Tendencies, chance: float) -> Mapping[str, Any]:
    """The right answers of the screen, if a person with these tendencies finds them; otherwise nothing. The simulator
    reads what no screen shows, for a person who works it out. `chance` is uniform in [0, 1)."""
    place = current_location(study, state)
    if place is None or not isinstance(place.node, Step):
        return {}
    if passing := place.node.passing(place):
        return passing if chance < tendencies.care else {}
    problem, key = place.shown_problem, place.node.answer_key(place)
    if problem is None or "answer" not in key:
        return {}
    helped = "model" in place.node.requires()
    likely = tendencies.care if problem.dataset == ATTENTION else tendencies.knows(problem.text, helped=helped)
    return {"answer": problem.answer} if chance < likely else {}
