"""Walking through a study as a participant, from any of its steps: a bot goes there, then a researcher takes over.

The bot goes aside, over a database that is thrown away, so that a step that cannot be reached leaves no trace. There it
does what any participant does, by the same door, with the scripted model in place of every other: nothing is spent.
What it did is then written as one: its clock has moved on only where it had to wait, and what it did last is now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from uuid import uuid4

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US, correct_answers, wait_until_open
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import Sessions, SessionService
from app.session.transitions import LoadedSession
from experiments.errors import StudyError, ValidationIssue, suggestion
from experiments.events import Data, Event
from experiments.session.waves import next_window, wave_schedule
from experiments.study.cells import Cell, cells
from experiments.study.location import without_indices
from experiments.study.resolve import restore
from experiments.study.schema import Loop, Node
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from storage.db.engine import open_database
from storage.registers.origins import Origin

# How long a click takes here: so long that nobody writes more than 20 messages a minute, which is the usual limit.
CLICK_S = 4.0
MOST_CLICKS = 2_000
# How many bots set out: which steps one meets may depend on what it answers.
MOST_TRIES = 8
# A step that no study has.
TO_THE_END = "-"
SAID = (
    "All up to here was done by a simulated participant with the scripted model, at a pace of its own, so that a "
    "researcher can walk through the study from here."
)


@dataclass(frozen=True, slots=True)
class PreviewTarget:
    """The start of a preview: a step's folded path (the beginning unless given), factors, and a language."""

    step: str = ""
    factors: Mapping[str, str] = field(default_factory=dict)
    language: str = ""


async def advance_to_step(sessions: Sessions, study: Study, target: PreviewTarget) -> str:
    """Begin a pilot session and bring it to a step; its stream. Raises StudyError where the step is not met."""
    cell = _cell(study, target)
    seed = str(uuid4())
    logs = await _advance_to(study, target, cell, seed)
    moved_us = sessions.now_us() - logs[-1][-1].at_us
    streams = [str(uuid4()) for _ in logs]
    for stream, events in zip(streams, logs, strict=True):
        await sessions.import_session(study, stream, moved(events, moved_us))
    return streams[-1]


def offline(study: Study, **more: object) -> Study:
    """A study with the scripted model in place of every other, changed in `more`; its hash is its own."""
    document = json.loads(study.document)
    for model in document["file"]["models"].values():
        model |= {"backend": "scripted", "server": None, "options": {}, **more}
    return restore(json.dumps(document))


def without_factor(study: Study, values: Mapping[str, str]) -> tuple[Quota, ...]:
    """Caps that shut every cell in which a factor has another value than this."""
    return tuple(
        Quota(where={name: other}, max=0) for name, other in every_value(study) if values.get(name, other) != other
    )


def every_value(study: Study) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(pair for cell in cells(study.factors, study.pools) for pair in cell.values.items()))


def _cell(study: Study, target: PreviewTarget) -> Cell:
    """A cell in which the step can be met; raises StudyError."""
    fitting = [cell for cell in cells(study.factors, study.pools) if cell.within(target.factors)]
    if not fitting:
        raise StudyError(study.name, [ValidationIssue("factors", f"there is no cell with {_listed(target.factors)}")])
    chains = [placed.chain for placed in study.placed_steps if placed.path == target.step]
    if target.step and not chains:
        known = [path for path, _ in study.steps]
        raise StudyError(
            study.name, [ValidationIssue(target.step, f"is not a step of this study{suggestion(target.step, known)}")]
        )
    for cell in fitting:
        if not chains or any(is_open(chain, cell.values) for chain in chains):
            return cell
    asked = " or ".join(dict.fromkeys(_listed(_required_values(chain, study)) for chain in chains))
    raise StudyError(
        study.name, [ValidationIssue(target.step, f"is reached only with {asked}, not with {_listed(target.factors)}")]
    )


def is_open(chain: Sequence[Node], values: Mapping[str, str]) -> bool:
    """True if no condition on the way to a step is against these factors; the bot finds out the rest."""
    own = set(values)
    for node in chain:
        for name, wanted in (node.when or {}).items():
            if name in own and values[name] not in _words(wanted):
                return False
        own -= {node.each, *node.vary} if isinstance(node, Loop) else set()
    return True


def _required_values(chain: Sequence[Node], study: Study) -> dict[str, str]:
    conditions = [pair for node in chain for pair in (node.when or {}).items() if pair[0] in study.factors]
    return {name: " or ".join(_words(wanted)) for name, wanted in conditions}


def _words(wanted: object) -> list[str]:
    return [str(value) for value in (wanted if isinstance(wanted, tuple | list) else (wanted,))]


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items()) or "any condition"


async def _advance_to(study: Study, target: PreviewTarget, cell: Cell, seed: str) -> list[tuple[Event, ...]]:
    """The log of a session that has come to the step; before it, those of earlier waves."""
    alike = replace(offline(study, price=None), hash=study.hash)
    with TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{folder}/walk.db")
        clock = VirtualClock(START_US)
        service = SessionService(database, Settings(messages_per_minute=MOST_CLICKS), clock)
        try:
            service.studies.register(alike)
            for number in range(MOST_TRIES if target.step else 1):
                session = await _start_session(service, alike, target, cell, f"{seed}:{number}")
                streams = [session.stream]
                while (later := await _next_wave(service, clock, session, target.step)) is not None:
                    session = later
                    streams.append(session.stream)
                if await _comes(service, clock, session, target.step, careful=number % 2 == 0):
                    await service.note(session.stream, {"what": SAID})
                    return [service.log.load(stream) for stream in streams]
        finally:
            await service.close()
            database.dispose()
    words = _listed({**target.factors, **({"language": target.language} if target.language else {})})
    raise StudyError(
        study.name,
        [
            ValidationIssue(
                target.step, f"was not reached by {MOST_TRIES} simulated participants with {words}. Check its `when`"
            )
        ],
    )


async def _start_session(
    service: SessionService, study: Study, target: PreviewTarget, cell: Cell, seed: str
) -> LoadedSession:
    data = {"language": target.language or study.file.language} if len(study.file.offered) > 1 else {}
    return await service.enrol(
        study, origin=Origin.PILOT, seed=f"walk:{seed}", closed_quotas=without_factor(study, cell.values), data=data
    )


async def _next_wave(
    service: SessionService, clock: VirtualClock, session: LoadedSession, step: str
) -> LoadedSession | None:
    """The session of the wave after this one, which is gone through; None if the step is in this one."""
    if not step or step.partition("/")[0] == session.state.enrolled.get("wave", step.partition("/")[0]):
        return None
    await _comes(service, clock, session, TO_THE_END, careful=True)
    return await wave_after(service, clock, session)


async def wave_after(service: SessionService, clock: VirtualClock, session: LoadedSession) -> LoadedSession | None:
    """The session of the wave that follows an ended session, started when it opens; None if none follows."""
    person = await service.person(stream=session.stream)
    window = next_window(wave_schedule(session.study, person.history, clock.now_us())) if person else None
    if person is None or window is None:
        return None
    clock.set(max(clock.now_us(), window.opens_us or 0))
    return await service.begin_wave(person, seed=f"{session.state.seed}:{window.wave}")


async def _comes(
    service: SessionService, clock: VirtualClock, session: LoadedSession, step: str, *, careful: bool
) -> bool:
    bot = RandomBot(session.state.seed)
    for _ in range(MOST_CLICKS if step else 0):
        await service.settled(session.stream)
        session = await service.get(session.stream) or session
        screen = session.screen
        if screen.ended or without_indices(screen.path) == step:
            break
        await click(service, clock, session, bot, careful=careful)
    return not step or without_indices(session.screen.path) == step


async def click(
    service: SessionService, clock: VirtualClock, session: LoadedSession, bot: RandomBot, *, careful: bool
) -> None:
    """Let a bot act on its current screen. A careful bot passes every check."""
    screen = session.screen
    kind, values = bot.act(screen)
    if kind == "submit" and careful:
        values |= correct_answers(session)
    clock.advance(CLICK_S)
    wait_until_open(clock, screen)
    await service.participant(session.stream, kind, screen.path, values, seen=screen.seen, key=f"{session.state.seq}")


def dated(events: tuple[Event, ...], now_us: int) -> tuple[Event, ...]:
    """The facts moved in time, so that the last is now."""
    return moved(events, now_us - events[-1].at_us)


def moved(events: tuple[Event, ...], us: int) -> tuple[Event, ...]:
    return tuple(replace(event, at_us=event.at_us + us, data=_moved(event.data, us)) for event in events)


def _moved(data: Data, us: int) -> Data:
    return {**data, "until_us": data["until_us"] + us} if "until_us" in data else data
