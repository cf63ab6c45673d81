"""All that is stored of one person, to be handed to them on request (GDPR, Articles 15 and 20): JSON with a README.

A person is somebody with a recruiter's id. Sessions that began under an unproven id in another browser may be somebody
else's, so they are left out and listed. Without an id a person is known by one session alone.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from sqlalchemy import Connection, Select, Table, select

from experiments.events import ASKED, GIVEN, HELPED, REMINDING
from experiments.plural import count
from experiments.session.engine import fold
from experiments.session.timing import by_path
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.quality_flags import SAME_ID
from experiments.views.transcript import remark
from storage import tables
from storage.datasets.describe.markdown import bullets, code, join
from storage.datasets.describe.zip_file import zip_texts
from storage.datasets.exports.session_rows import attempts_of
from storage.datasets.tidy.columns import Layout
from storage.datasets.tidy.rows import TidySession, rows, time
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log.event_log import facts
from storage.registers.contacts import mail_address
from storage.registers.participants import ParticipantId, Participants
from storage.registers.persons import person_of
from storage.registers.studies import Studies
from storage.reports.sessions import find_sessions, not_found

DATA, README = "person.json", "README.md"
# Recruiters whose ids are one person's in every study. Ids of the others are given for each study.
GLOBAL = ("prolific", "connect")
TABLES = ("answers", "scores", "ratings", "messages", "memory", "timings", "events", "model_calls", "tool_calls")
REMARKS = ("noted", "flagged", "annotated", "excluded", "included", ASKED, HELPED, GIVEN, *REMINDING)
UNPROVEN, FIRST = "none", "first"
_session, _seat, _identity = tables.sessions.c, tables.seats.c, tables.identities.c


@dataclass(frozen=True, slots=True)
class PersonSessions:
    """The sessions of one person, and those under the same id that may be another person's, by their ids."""

    streams: tuple[str, ...]
    doubtful: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SessionOwner:
    stream: str
    study: str
    number: int
    recruiter: str
    whose: str


def sessions_of_person(database: Database, participants: Participants, name: str, study: str = "") -> PersonSessions:
    """The sessions by a recruiter's or a session's id, also as exported; StorageError for none or several people."""
    found, under_id = _named(database, participants, name, study)
    return _certain(found) if under_id else person_of_session(database, participants, found[0].stream)


def sessions_to_erase(database: Database, participants: Participants, name: str, study: str = "") -> list[str]:
    """All sessions with such an id, proven or not, and their people's other waves; StorageError likewise."""
    found = [one.stream for one in _named(database, participants, name, study)[0]]
    people = [person_of(database, stream) for stream in found]
    return [*dict.fromkeys((*found, *(stream for one in people if one for stream in one.streams.values())))]


def _named(database: Database, participants: Participants, name: str, study: str) -> tuple[list[_SessionOwner], bool]:
    """Return the sessions with a name, and whether it is a recruiter's id."""
    found = _owners(database, find_sessions(database, participants, name, study))
    if not found:
        raise not_found(name)
    under_id = {stream for its in {one.study for one in found} for stream in participants.called(its, name)}
    if not under_id.issuperset(one.stream for one in found):
        return found, False
    recruiters = sorted({one.recruiter for one in found})
    studies = sorted({one.study for one in found})
    if len(recruiters) > 1:
        raise StorageError(
            f"{name!r} is an ID of several recruiters ({', '.join(recruiters)}), so perhaps of several people. "
            "Give the ID of one of the sessions instead: the console lists them"
        )
    if len(studies) > 1 and recruiters[0] not in GLOBAL:
        raise StorageError(
            f"{name!r} is an ID in several studies ({', '.join(studies)}), and {recruiters[0]} gives its IDs for each "
            "study, so they may be several people's. Choose one: --study NAME"
        )
    return found, True


def person_of_session(database: Database, participants: Participants, stream: str) -> PersonSessions:
    (own,) = _owners(database, [stream])
    person = participants.reveal(stream)
    if person is None:
        return PersonSessions((stream,))
    found = _certain(_owners(database, participants.sessions(own.study, ParticipantId(own.recruiter, person.id))))
    if stream in found.streams:
        return found
    return PersonSessions((stream,), tuple(one for one in (*found.streams, *found.doubtful) if one != stream))


def _certain(owners: Sequence[_SessionOwner]) -> PersonSessions:
    """In each study, those sessions under the id that were proven, or else those of the browser that had it first."""
    sure: dict[str, str] = {}
    for one in owners:
        if one.whose in ("", FIRST):
            sure[one.study] = "" if one.whose == "" else sure.get(one.study, FIRST)
    streams = tuple(one.stream for one in owners if sure.get(one.study) == one.whose)
    return PersonSessions(streams, tuple(one.stream for one in owners if one.stream not in streams))


def _owners(database: Database, streams: Sequence[str]) -> list[_SessionOwner]:
    query = select(_session.stream, _session.study, _session.ordinal, _identity.recruiter)
    query = query.outerjoin(tables.identities, _identity.stream == _session.stream)
    query = query.where(_session.stream.in_(streams)).order_by(_session.study, _session.ordinal)
    with database.connect() as connection:
        return [
            _SessionOwner(row.stream, row.study, row.ordinal, row.recruiter or "", _owner_of(connection, row.stream))
            for row in connection.execute(query).all()
        ]


def _owner_of(connection: Connection, stream: str) -> str:
    """Empty for the person of a proven id, `first` for the first browser with an unproven one, else the session."""
    state = fold(facts(connection, stream))
    if state.outcome == "withdrawn":  # nothing is known of a proof any more
        return FIRST
    if state.enrolled.get("proof") != UNPROVEN:
        return ""
    return stream if state.enrolled.get(SAME_ID) else FIRST


def person_data(
    database: Database, participants: Participants, person_sessions: PersonSessions, at_us: int
) -> dict[str, Any]:
    """All that is stored of a person, as JSON. Raises StorageError if the recruiter's id cannot be read."""
    studies = Studies(database)
    with database.connect() as connection:
        sessions = [_session_data(connection, studies, participants, stream) for stream in person_sessions.streams]
    return {"made": time(at_us), "sessions": sessions}


def write_person(data: Mapping[str, Any], file: BinaryIO) -> None:
    zip_texts({README: readme(data), DATA: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}, file)


def _session_data(connection: Connection, studies: Studies, participants: Participants, stream: str) -> dict[str, Any]:
    query = select(_session.study, _session.hash, _session.ordinal, _session.person, *_seat)
    query = query.outerjoin(tables.seats, _seat.stream == _session.stream).where(_session.stream == stream)
    seat = connection.execute(query).one()._asdict()
    state, study = fold(facts(connection, stream)), studies.get(seat["hash"])
    about = {
        "study": seat["study"],
        "title": study.file.title,
        "study_version": study.file.version,
        "contact": study.file.contact or None,
        "session": stream,
        "number": seat["ordinal"],
    }
    if state.outcome == "withdrawn":
        return {**about, "outcome": "withdrawn", "erased": time(state.events[-1].at_us)}
    person = participants.reveal(stream)
    identity = {"recruiter": person.recruiter, "id": person.id, "submission": person.submission} if person else None
    layout = Layout(studies.with_sessions(seat["study"], seat["origin"]))
    attempts = [row._asdict() for row in connection.execute(attempts_of([stream]))]
    page_told = by_path(connection.execute(_of(tables.telemetry, stream)).mappings())
    record = TidySession(study, state, seat, page_told, attempts)
    (whole,) = rows("sessions", record, layout)
    ids = {name: value for name, value in whole.items() if name in ("session", *layout.ids)}
    found = {table: [_filled(row, ids) for row in rows(table, record, layout)] for table in TABLES}
    for call, attempt in zip(found["model_calls"], record.attempts, strict=True):
        call |= {name: attempt[name] for name in ("text", "reasoning") if attempt[name]}
    return {
        **about,
        "identity": identity,
        "mail_address": mail_address(connection, participants, seat["person"] or ""),
        "ids_in_exported_data": ids,
        **_filled(whole, (*ids, *layout.factors)),
        "conditions": dict(state.factors),
        **found,
        **_kept(connection, study, state, stream),
    }


def _kept(connection: Connection, study: Study, state: State, stream: str) -> dict[str, Any]:
    """The data beside the tidy tables: payments, remarks, unsent texts, and the page's records."""
    remarks = [remark(study, event) for event in state.events if event.kind in REMARKS]
    return {
        "payments": [
            {"time": time(event.at_us), "amount": event.data["amount"], "file": event.data["file"]}
            for event in state.events
            if event.kind == "paid"
        ],
        "remarks": [{"time": time(one.at_us), "kind": one.kind, "text": one.text} for one in remarks],
        "pictures": [
            {"sha256": row.sha256, "type": row.type, "base64": b64encode(row.content).decode()}
            for row in connection.execute(_of(tables.session_pictures, stream))
        ],
        "not_sent": [*_records(connection, tables.drafts, stream)],
        "page_records": [*_records(connection, tables.telemetry, stream)],
    }


def _filled(row: Mapping[str, Any], without: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name not in without}


def _of(table: Table, stream: str) -> Select[Any]:
    return select(table).where(table.c.stream == stream).order_by(*table.primary_key)


def _records(connection: Connection, table: Table, stream: str) -> Iterator[dict[str, Any]]:
    for row in connection.execute(_of(table, stream)):
        values = {name: value for name, value in row._asdict().items() if name not in ("stream", "batch")}
        yield {"time": time(values.pop("at_us")), **values}


PARTS: Mapping[str, str] = {
    "identity": "the ID at the recruiter (such as Prolific) under which you took part; it is not in the study's data",
    "mail_address": "the address that you gave for reminders; it is not in the study's data",
    "ids_in_exported_data": "the random names that you have in the files made for analysis and publication",
    "conditions": "the variant of the study that you were assigned to, by chance",
    "answers": "each of your answers, with the question as you read it",
    "scores": "the scores of the questionnaires that you filled in, computed from your answers",
    "ratings": "each of your ratings, rankings and votes",
    "messages": "your messages and the replies that you read",
    "pictures": "the pictures that you attached to messages, each as a text in base64",
    "timings": "when each screen was shown, for how long, and what the page recorded meanwhile",
    "events": "what happened, step by step",
    "model_calls": "each request to a language model for you, with its text, time and cost",
    "tool_calls": "each call of a tool that a model asked for, your decision on it, and what the tool gave",
    "payments": "bonus payments, with the file in which the researchers paid them",
    "remarks": "what researchers, checks and models noted about you, exclusions included, and requests for help",
    "not_sent": "what you typed and did not send",
    "page_records": "what the page recorded in times and counts, without content",
}
LEFT_OUT = (
    "The study itself: texts of screens, the instructions to the models and the list of right answers. They are the "
    "same for everybody, and secret while the study runs.",
    "The random seed of the session and the keys by which a link or a browser is recognised. They open the session.",
    "How many others were in each condition when you arrived. It is about others.",
    "The names of researchers who wrote a remark.",
    "Released tables. They are made from the parts above and say the same in another form.",
    "Files outside of Parley's database, which the researchers have: payment files, earlier exports, backups.",
)


def readme(data: Mapping[str, Any]) -> str:
    return join(
        "# Your data",
        f"All that is stored of one person in {count(len(data['sessions']), 'session')}, as of {data['made']}. "
        "Nothing is of anybody else. Times are in UTC.",
        *_sessions(data),
        "## What is in `person.json`",
        "A list `sessions`. Each has the study, the times, how it ended, and:",
        bullets(f"{code(name)}: {about}" for name, about in PARTS.items()),
        "## What is left out",
        bullets(LEFT_OUT),
        "## For the researcher who hands this over",
        "It names the person, the condition, the models and which answers were right. While the study runs, this ends "
        "the person's blinding. Send it only to the person, over a channel that you know to be theirs.",
    )


def _sessions(data: Mapping[str, Any]) -> Iterator[str]:
    for one in data["sessions"]:
        about = f"**{one['title']}** ({code(one['study'])}), session {code(one['session'])}"
        if "erased" in one:
            yield f"{about}: the data were erased at {one['erased']}. Nothing is left but that there was a session."
            continue
        parts = (f"{len(one[name]):,} {name.replace('_', ' ')}" for name in ("answers", "ratings", "messages"))
        contact = f" Questions: {one['contact']}." if one["contact"] else ""
        yield f"{about}, started at {one['started']}: {', '.join(parts)}.{contact}"
