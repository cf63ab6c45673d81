"""The texts of a study's sessions, of models that were asked the same questions alone, and the evidence of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from experiments.session.timing import by_path
from experiments.views.integrity import (
    LEAST_RUNS,
    Dossier,
    Question,
    Runs,
    Thresholds,
    WrittenSession,
    dossiers,
    flagged,
    runs,
    thresholds_of,
    written,
)
from storage import tables
from storage.ai_alone.answers import ALONE
from storage.ai_alone.replies import cells_of, stored
from storage.db.engine import Database
from storage.log import telemetry
from storage.log.folded_sessions import folded_sessions
from storage.registers.studies import Studies

_session, _seat = tables.sessions.c, tables.seats.c


class SessionWriting(NamedTuple):
    session: WrittenSession
    seed: str


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """The evidence of a session, and the seed of the session whose text is like one of its own."""

    dossier: Dossier
    flags: Mapping[str, bool | None]
    thresholds: Thresholds
    alike: str | None = None
    """None if no text is like one of its own."""


def session_evidence(
    database: Database, study: str, origins: Sequence[str], thresholds: Thresholds
) -> dict[int, SessionEvidence]:
    """The evidence of each session of these origins by number, oldest first and excluded ones included."""
    return evidence_among(session_writings(database, study, origins), replies_alone(database, study), thresholds)


def evidence_among(
    writings: Iterable[SessionWriting], runs_by_question: Mapping[Question, Sequence[Runs]], thresholds: Thresholds
) -> dict[int, SessionEvidence]:
    """The evidence of each session by number; copies are looked for among them all."""
    by_number = {one.session.number: one for one in writings}
    found = {}
    for session, dossier in dossiers([one.session for one in by_number.values()], runs_by_question):
        copy = dossier["duplicate"]
        alike = by_number[copy.number].seed if copy is not None and copy.number is not None else None
        found[session.number] = SessionEvidence(dossier, flagged(dossier, thresholds), thresholds, alike)
    return found


def thresholds_in_force(database: Database, study: str) -> Thresholds:
    """The thresholds of the newest version, which count for sessions of all versions; Parley's if there is none."""
    studies = Studies(database)
    return thresholds_of(studies.newest(study) if studies.has(study) else None)


def excluded_sessions(database: Database, study: str) -> frozenset[int]:
    """The numbers of the sessions that a researcher excluded: not why, as reasons can name an outcome."""
    query = select(_session.ordinal).join(tables.seats, _seat.stream == _session.stream)
    with database.connect() as connection:
        found = connection.execute(query.where(_session.study == study, _seat.excluded.is_not(None))).scalars()
        return frozenset(found)


def session_writings(database: Database, study: str, origins: Sequence[str]) -> Iterator[SessionWriting]:
    """The texts of each session of these origins, oldest first; nothing of those that withdrew."""
    for stream, number, _, version, state in folded_sessions(database, study, origins):
        records = by_path(telemetry.read(database, study, stream))
        yield SessionWriting(written(version, state, number, records), state.seed)


def replies_alone(database: Database, study: str) -> dict[Question, list[Runs]]:
    """The replies of models that were asked a study's questions alone, by question; without those that are short."""
    about = {
        cell.cell: (cell.dataset or "", cell.problem)
        for cell in cells_of(database, study, ALONE)
        if cell.problem is not None
    }
    found: dict[Question, list[Runs]] = {}
    for reply in stored(database, about):
        if reply.text is not None and len(of_reply := runs(reply.text)) >= LEAST_RUNS:
            found.setdefault(about[reply.cell], []).append(of_reply)
    return found
