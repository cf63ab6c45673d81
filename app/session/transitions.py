"""The events of an action and of all tasks that follow at once (assignment, draws, the end), and the rows to write.

Some tasks depend on other sessions: which cells are full, how often a problem was drawn. Those counts are read inside
the transaction that writes the events, so that two sessions cannot act on the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from experiments.errors import Refused
from experiments.events import NOTES, Action, Data, Event, PendingTask
from experiments.session.assignment import open_cells_or_refuse
from experiments.session.conversation import ATTACHED, dropped_pictures
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.session.memory import history_of
from experiments.session.state import holds_place, is_later_wave
from experiments.session.study_status import StudyStatus
from experiments.study.location import State, language_of
from experiments.study.screen import Screen
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from problems.attachments import NewPicture
from storage.log.event_log import facts
from storage.log.quota import StudyCounts
from storage.log.seats import seat_changes, until_us
from storage.log.writer import Append, ClearedDraft, Enrolment
from storage.registers.origins import QUOTAS_APPLY, Origin
from storage.registers.persons import siblings
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import Rows, rows_of

# The kinds of events that complete, change or remove rows of released tables.
COMPLETE = ("submitted", "voted", "expired", "finished", "withdrew", "annotated")
CLOSED = "Nobody new can begin {study} at the moment ({why})."
# Returns the counts of other sessions for a task that depends on them, as the data of its action.
Lookup = Callable[[PendingTask, State], Mapping[str, Any]]


@dataclass(frozen=True)
class LoadedSession:
    """A session in memory: its study, its state (the fold of its events), and its rows of released tables by key."""

    stream: str
    study: Study
    state: State
    rows: Mapping[tuple[Any, ...], ReleasedRow] = field(default_factory=dict)

    @property
    def language(self) -> str:
        return language_of(self.study, self.state)

    @cached_property
    def screen(self) -> Screen:
        return screen(self.study, self.state)

    def with_events(self, events: Sequence[Event], state: State | None = None) -> LoadedSession:
        state = state or fold(events, self.state)
        rows = rows_of(self.study, state) if any(event.kind in COMPLETE for event in events) else self.rows
        return LoadedSession(self.stream, self.study, state, rows)


def apply_action(
    session: LoadedSession, action: Action, lookup: Lookup | None = None
) -> tuple[tuple[Event, ...], State]:
    """The events of an action and of the immediate tasks after it, and the state after them. Stops at a pending reply,
    and without `lookup` also at a task that depends on other sessions."""
    events: Sequence[Event] = decide(session.study, session.state, action)
    state = fold(events, session.state)
    while events and (job := immediate_task(session.study, state)) is not None:
        if depends_on_others(job) and lookup is None:
            break
        data = lookup(job, state) if lookup and depends_on_others(job) else {}
        more = decide(session.study, state, Action(job.kind, job.path, data, action.at_us, by="system"))
        events, state = (*events, *more), fold(more, state)
    return tuple(events), state


def immediate_task(study: Study, state: State) -> PendingTask | None:
    """The pending task that can be done at once; None if there is none, or if replies or calls of tools are pending."""
    jobs = pending_tasks(study, state)
    return jobs[0] if jobs and jobs[0].kind not in ("reply", "tool") else None


def depends_on_others(task: PendingTask) -> bool:
    """Return True for an assignment that repeats none, a draw with a target, or a recall of earlier waves."""
    return (task.kind == "assign" and not task.data) or task.kind == "recall" or "target" in task.data


def to_append(
    session: LoadedSession, later_session: LoadedSession, action: Action, enrolment: Enrolment | None = None
) -> Append:
    events = tuple([event for event in later_session.state.events if event.seq > session.state.seq])
    kinds = {event.kind for event in events}
    whole = "submitted" in kinds or "expired" in kinds
    drafted = action.by == "participant" and not kinds <= NOTES
    own = f"{action.kind}:" if action.kind in ("say", "edit") else ""
    names = tuple(f"{own}{name}" for name in action.data)
    spent = ClearedDraft(action.path, None if whole else names) if drafted else None
    picture = action.data.get("picture")
    return Append(
        stream=session.stream,
        study=session.study.name,
        events=events,
        origin=later_session.state.enrolled["origin"],
        rows=changed_rows(session.rows, later_session.rows),
        enrolment=enrolment,
        spent=spent,
        seat=seat_changes(session.study, session.state, later_session.state),
        erases="withdrew" in kinds,
        picture=picture if isinstance(picture, NewPicture) and ATTACHED in kinds else None,
        dropped=dropped_pictures(session.state, later_session.state),
    )


def changes_quota(study: Study, old_state: State, new_state: State) -> bool:
    """Return True if the session counts against the quota after an action and did not before."""
    return holds_place(study, new_state) and not (old_state.seq and holds_place(study, old_state))


def counted_append(
    session: LoadedSession, action: Action, closed_quotas: tuple[Quota, ...], counts: StudyCounts
) -> Append:
    """Raises Refused if the session would count against the quota and no cell is open."""
    study, origin = session.study, session.state.enrolled["origin"]
    quotas = _caps(study, origin, counts.operations(study), session.state.enrolled, closed_quotas)
    events, state = apply_action(session, action, _lookup_in(study, session.stream, origin, counts, quotas))
    if quotas and not study.factors and changes_quota(study, session.state, state):
        open_cells_or_refuse(study, counts.counts(study, origin), quotas)
    return to_append(session, session.with_events(events, state), action)


def _caps(
    study: Study, origin: str, status: StudyStatus, enrolled: Data, closed_quotas: tuple[Quota, ...]
) -> tuple[Quota, ...]:
    """The quotas that apply; the study's own to participants and, apart, a rehearsal, not to pilots and bots."""
    own = status.quotas_of(study.file.quotas) if origin in QUOTAS_APPLY else ()
    return (*own, *map(Quota.from_data, enrolled.get("shut", ())), *closed_quotas)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The data of `enrolled`, and the recruiter's identity; `closed` are cells without budget, as quotas of 0."""

    data: Mapping[str, Any]
    identity: Mapping[str, Any] | None
    closed: tuple[Quota, ...] = ()


def enrolment_append(session: LoadedSession, arrival: Arrival, counts: StudyCounts) -> Append:
    """The append that starts a session; raises Refused if the study is closed or no cell is open."""
    study, origin = session.study, arrival.data["origin"]
    operations = counts.operations(study)
    later = is_later_wave(study, State(enrolled=arrival.data))  # whoever was admitted once is not refused
    why = operations.closed if later else operations.closed_reason
    if origin == Origin.PERSON and why is not None:
        raise Refused("closed", CLOSED.format(study=study.name, why=why))
    origin = Origin.PILOT if origin == Origin.PERSON and operations.pilot and not later else origin
    quotas = () if later else _caps(study, origin, operations, arrival.data, arrival.closed)
    if quotas:  # counting takes a microsecond for each completed session
        open_cells_or_refuse(study, counts.counts(study, origin), quotas)
    action = Action("enrol", "", {**arrival.data, "origin": origin}, counts.now_us, by="system")
    events, state = apply_action(session, action, _lookup_in(study, session.stream, origin, counts, quotas))
    return to_append(
        session, session.with_events(events, state), action, enrolment(study, state, counts.now_us, arrival.identity)
    )


def enrolment(study: Study, state: State, begun_us: int, identity: Mapping[str, Any] | None = None) -> Enrolment:
    return Enrolment(
        study=study.name,
        hash=study.hash,
        origin=state.enrolled["origin"],
        identity=identity,
        cell=state.factors,
        begun_us=begun_us,
        until_us=until_us(study, begun_us),
        language=language_of(study, state),
        person=state.enrolled.get("person"),
        wave=state.enrolled.get("wave"),
        again="person" in state.enrolled and is_later_wave(study, state),
    )


def _lookup_in(study: Study, stream: str, origin: str, counts: StudyCounts, quotas: Sequence[Quota]) -> Lookup:
    def lookup(task: PendingTask, state: State) -> Mapping[str, Any]:
        if task.kind == "recall":
            sessions = takewhile(stream.__ne__, siblings(counts.connection, state.enrolled["person"]))
            return history_of([fold(facts(counts.connection, session)) for session in sessions])
        if task.kind == "assign":
            return {
                "counts": [[values, number] for values, number in counts.counts(study, origin)],
                "caps": [cap.as_data() for cap in quotas],
            }
        return {"taken": counts.item_counts(study, origin, task.path)}

    return lookup


def changed_rows(before: Rows, after: Rows) -> tuple[ReleasedRow, ...]:
    """The new or changed rows. Most rows are identical objects, so identity is checked before equality."""
    return tuple([row for key, row in after.items() if (was := before.get(key)) is not row and was != row])
