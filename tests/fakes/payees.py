"""People of several recruiters who took part in a small study that pays them, each in another way to its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from experiments.events import Action, Event
from experiments.study.study import Study
from experiments.views.problem_history import problem_turns
from storage import tables
from storage.db.engine import open_database, writer
from storage.log.writer import Append
from storage.registers.participants import ParticipantId, Participants
from tests.fakes.served import SECRET
from tests.fakes.studies import write

STUDY = {
    "study": "paid",
    "title": "Paid by the answer",
    "problems": {
        "questions": {"source": "chatbench"},
        "attention": {"source": "chatbench", "path": "sample/attention.csv"},
    },
    "session_limits": {"time_limit_s": 3600},
    "bonus": [{"per": "correct_answer", "amount": 0.1}],
    "flow": [
        {"step": "consent", "text": "Do you agree?"},
        {"each": "question", "of": "questions", "take": 3, "do": "user-alone@1"},
        {"each": "check", "of": "attention", "take": 1, "do": "user-alone@1"},
        {"step": "finish", "code": "DONE"},
    ],
}
# Outcomes that this study's own steps do not come to.
ENDED = ("no_consent", "screened_out", "technical_failure")


@dataclass(frozen=True)
class Somebody:
    """A participant: their recruiter, the number of right answers (the attention check is the last), and the end."""

    recruiter: str
    id: str
    right: int = 0
    outcome: str = "complete"


def pid(number: int) -> str:
    return f"5f3a0c6e9d1b2a7c4e8f{number:04d}"


async def take_part(folder: Path, *people: Somebody, **keys: Any) -> Study:
    study = load_study(str(write(folder, STUDY | keys)))
    database = open_database(f"sqlite:///{folder}/parley.db")
    clock = VirtualClock(START_US)
    runtime = SessionService(database, Settings(_env_file=None), clock)
    runtime.prepare(study)
    identities = Participants(database, SECRET)
    for somebody in people:
        person = ParticipantId(somebody.recruiter, somebody.id)
        identity = identities.entry("paid", person) if somebody.id else None
        live = await runtime.enrol(study, origin="person", identity=identity)
        await _end(runtime, clock, live, somebody)
    await runtime.enrol(study, origin="bot")
    await runtime.close()
    database.dispose()
    return study


async def _end(service: SessionService, clock: VirtualClock, session: LoadedSession, somebody: Somebody) -> None:
    if somebody.outcome == "complete":
        while not session.screen.ended:
            session = await _click(service, clock, session, somebody.right)
    elif somebody.outcome in ENDED:
        ended = Event(session.state.seq + 1, clock.now_us(), "system", "", "finished", {"outcome": somebody.outcome})
        service.log.append(Append(session.stream, session.study.name, (ended,))).result()
    elif somebody.outcome == "timed_out":
        clock.advance(3602)
        await service.get(session.stream)
    elif somebody.outcome == "withdrawn":
        await service.act(session.stream, Action("withdraw", "", {}, clock.now_us()))


async def _click(service: SessionService, clock: VirtualClock, session: LoadedSession, right: int) -> LoadedSession:
    values: dict[str, str | None] = {"agreed": "on"}
    if met := problem_turns(session.study, session.state):
        answer = met[-1].problem.answer
        wrong = next(key for key in "ABCD" if key != answer)
        values = {"confidence": "very-confident", "answer": answer if met[-1].position < right else wrong}
    clock.advance(60)
    seen = session.screen
    asked = {name: value for name, value in values.items() if name in {field.name for field in seen.panel.fields}}
    return await service.participant(session.stream, "submit", seen.path, asked, seen=seen.seen)


def erase_id(database: Path, study: str, participant: ParticipantId) -> None:
    engine = open_database(f"sqlite:///{database}")
    stream = Participants(engine, SECRET).find(study, participant)
    with writer(engine) as connection, connection.begin():
        own = tables.identities.c.stream == stream
        assert connection.execute(update(tables.identities).where(own).values(sealed=b"")).rowcount == 1
    engine.dispose()


def copies(database: Path, id_: str, count: int) -> list[str]:
    """So many more people who did just what somebody of Prolific's did; their ids, in the order of their sessions."""
    engine = open_database(f"sqlite:///{database}")
    identities = Participants(engine, SECRET)
    stream = identities.find("paid", ParticipantId("prolific", id_))
    ids = [pid(1000 + number) for number in range(count)]
    with writer(engine) as connection, connection.begin():
        for table in (tables.sessions, tables.events):
            (*rows,) = connection.execute(select(table).where(table.c.stream == stream)).mappings()
            for number in range(count):
                ordinal = {"ordinal": 1000 + number} if table is tables.sessions else {}
                connection.execute(insert(table), [{**row, **ordinal, "stream": f"copy-{number}"} for row in rows])
        for number, copy in enumerate(ids):
            entry = identities.entry("paid", ParticipantId("prolific", copy))
            connection.execute(insert(tables.identities), [{"stream": f"copy-{number}", "study": "paid", **entry}])
    engine.dispose()
    return ids
