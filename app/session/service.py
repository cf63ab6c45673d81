"""All changes to sessions, by participants, simulated participants, models, researchers and annotators.

`act` loads the session, lets the engine decide, appends the events of the action and of all tasks that follow at once
(assignment, draws, the end) in one transaction, and returns after the commit. After a write conflict it loads and
decides again.

`Sessions` is for callers outside the participants' server: commands, the console, annotators. `SessionService` serves
participants: it caches sessions and requests pending replies from models. After a crash a reply is still pending, so
a restart needs no recovery step.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import uuid4

from cachetools import LRUCache

from app.calls.caller import Attempt, Budget, Caller, row_of
from app.calls.model_pool import ModelAccess, ModelPool
from app.calls.retry import RetryPolicy
from app.clock import Clock
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.session.budget_gate import BUDGET, BudgetGate
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.judges import Judges, Questions
from app.session.replies.request import ReplyContext, ask_with_retries, request_json
from app.session.replies.tasks import ReplyLocks, ReplyTasks, no_lock
from app.session.replies.tools import SessionTools, refuse_without_tools
from app.session.transitions import (
    CLOSED,
    Arrival,
    LoadedSession,
    apply_action,
    changes_quota,
    counted_append,
    depends_on_others,
    enrolment,
    enrolment_append,
    immediate_task,
    to_append,
)
from experiments.errors import Refused
from experiments.events import Action, Actor, Event, PendingTask
from experiments.session.annotations import ANNOTATED, Annotation
from experiments.session.assignment import FULL
from experiments.session.conversation import check_message_rate
from experiments.session.desk import Kind, exclusion, remark
from experiments.session.engine import decide, fold
from experiments.session.telemetry import TelemetryRecord, storable_records
from experiments.session.timing import overdue
from experiments.session.waves import WaveHistory, next_window, wave_data, wave_schedule
from experiments.study.location import State
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study
from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database, attempts
from storage.errors import Conflict, StorageError
from storage.log.event_log import Log
from storage.log.quota import StudyCounts
from storage.log.telemetry import TelemetryBatch
from storage.log.writer import Append, AppendWithCounts, AttemptRow, DraftRow
from storage.registers import persons
from storage.registers.imported_rows import rows_of_events
from storage.registers.origins import Origin
from storage.registers.session_pictures import picture_contents, session_picture
from storage.registers.studies import StoredPicture, Studies
from storage.reports.costs import times_asked
from storage.schemas.registry import rows_of

NOT_OPEN = "The next part is not open now."
UNKNOWN = "This session was not found. Please use the link that you were given."
# How many sessions are annotated concurrently; their appends share commits.
AT_ONCE = 200
# The most sessions that one `sweep` checks for deadlines.
MOST_SWEPT = 200
NOTHING: Mapping[str, Any] = MappingProxyType({})
# Event-loop iterations to yield after writing an action that a model answers, so that the request to the model is sent
# before the page is rendered: one for the reply's task, one for the HTTP client.
TURNS = 2

# Sessions; each is some hundred objects, which Python's garbage collector has to scan.
MOST_CACHED = 2_000
# How often a page looks for what researchers did at the desk, and how often all pages of a process do together.
DESK_EVERY_S, DESK_PER_S = 8.0, 50
LOOK_S = 0.25

log = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class AnnotationCount:
    """Numbers of new, present (`known`) and refused annotations, as the participant has withdrawn (`gone`)."""

    new: int = 0
    known: int = 0
    gone: int = 0


class SessionCache:
    """The loaded sessions of a process, the most recently used, so that a request reads nothing from the database."""

    def __init__(self, most: int = MOST_CACHED) -> None:
        self._lives: LRUCache[str, LoadedSession] = LRUCache(most)

    def get(self, stream: str) -> LoadedSession | None:
        return self._lives.get(stream)

    def put(self, session: LoadedSession) -> LoadedSession:
        """Cache a session and return the newest version: one that was read before a write may be put after it."""
        known = self._lives.get(session.stream)
        newest = known if known is not None and known.state.seq > session.state.seq else session
        self._lives[session.stream] = newest
        return newest

    def __len__(self) -> int:
        return len(self._lives)

    def drop(self, stream: str) -> None:
        """Remove a session whose log has newer events."""
        self._lives.pop(stream, None)


class Sessions:
    """The sessions of a database. It requests no replies: those are left to the participants' server."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.studies = Studies(database)
        self.log = Log(database)
        self._clock = clock
        self.now_us = clock.now_us

    async def close(self) -> None:
        """Stop, after everything that was accepted is written."""
        await asyncio.to_thread(self.log.close)

    async def get(self, stream: str) -> LoadedSession | None:
        """A session by its stream; None if there is none. Raises StorageError for imported data."""
        return await asyncio.to_thread(self._load, stream)

    async def act(self, stream: str, action: Action) -> LoadedSession:
        """Perform an action and return after the commit. Raises Refused, or StorageError if it cannot be written."""
        return await self._retried(stream, lambda live: self._write(live, action))

    async def act_once(self, stream: str, action: Action) -> LoadedSession | None:
        """Perform an action with a key; None if it was performed before, perhaps by another process."""

        async def write(session: LoadedSession) -> LoadedSession | None:
            after = await self._write(session, action)
            return None if after is session else after

        return await self._retried(stream, write)

    async def remark(self, stream: str, kind: Kind, text: str, who: str) -> None:
        """Write a researcher's remark or act. Raises NotPossible, or Refused if the session is withdrawn."""
        action = remark(kind, text, who, self.now_us())
        if kind == "finished" and (session := await self.get(stream)) is not None:
            typed = await asyncio.to_thread(self.log.draft, stream, session.screen.path)
            action = replace(action, data={**action.data, "typed": typed})
        await self.act(stream, action)

    async def withdraw(self, stream: str, by: Actor = "researcher") -> bool:
        """Erase a session; `by` the system, as its period has passed. False if it was erased before."""
        try:
            await self.act(stream, Action("withdraw", "", {}, self.now_us(), by=by))
        except Refused:
            return False
        return True

    async def annotate(self, study: str, annotations: Mapping[str, Sequence[Annotation]]) -> AnnotationCount:
        """Write the annotations that do not exist yet; those of one session are written together."""
        free = asyncio.Semaphore(AT_ONCE)

        async def one(stream: str, annotations: Sequence[Annotation]) -> AnnotationCount:
            async with free:
                if all(annotation.about.of for annotation in annotations):
                    return await self._annotate_imported(study, stream, annotations)
                try:
                    return await self._retried(stream, lambda live: self._annotate(live, annotations))
                except Refused:
                    return AnnotationCount(gone=len(annotations))

        done = await asyncio.gather(*(one(stream, found) for stream, found in annotations.items()))
        return AnnotationCount(*(sum(getattr(each, name) for each in done) for name in ("new", "known", "gone")))

    async def import_session(self, study: Study, stream: str, events: Sequence[Event]) -> None:
        session = LoadedSession(stream, study, State())
        after, begun_us = session.with_events(events), events[0].at_us
        action = Action("enrol", "", {}, begun_us, by="system")
        await self._append(to_append(session, after, action, enrolment(study, after.state, begun_us)))

    async def _retried(self, stream: str, write: Callable[[LoadedSession], Awaitable[Result]]) -> Result:
        """Load a session and write to it; repeat after a Conflict with another writer."""
        for attempt in attempts(stream):
            with attempt:
                session = await self.get(stream)
                if session is None:
                    raise Refused("ended", UNKNOWN)
                try:
                    return await write(session)
                except Conflict:
                    self._forget(stream)
                    raise
        raise AssertionError  # the last attempt returns or raises

    def _forget(self, stream: str) -> None:
        """Drop the cached session: the log has newer events. Nothing is cached here."""

    def _load(self, stream: str) -> LoadedSession | None:
        events = self.log.load(stream)
        if not events:
            return None
        if events[0].kind not in ("enrolled", "withdrew"):
            raise StorageError(f"{stream} is imported: it cannot have notes or exclusions; filter its export instead")
        state = fold(events)
        study = self.studies.get(state.enrolled["hash"])
        return LoadedSession(stream, study, state, rows_of(study, state))

    async def _write(self, session: LoadedSession, action: Action) -> LoadedSession:
        events, state = apply_action(session, action)
        if not events:
            return session
        after = session.with_events(events, state)
        await self._append(to_append(session, after, action))
        return after

    async def _append(self, append: Append) -> None:
        await asyncio.wrap_future(self.log.append(append))

    async def _annotate(self, session: LoadedSession, annotations: Sequence[Annotation]) -> AnnotationCount:
        state = session.state
        for annotation in annotations:
            state = fold(decide(session.study, state, annotation.action(self.now_us())), state)
        new = state.events[len(session.state.events) :]
        if new:
            await self._append(
                to_append(session, session.with_events(new, state), annotations[-1].action(self.now_us()))
            )
        return AnnotationCount(len(new), len(annotations) - len(new))

    async def _annotate_imported(self, study: str, stream: str, annotations: Sequence[Annotation]) -> AnnotationCount:
        """Imported data are rows and no session, so the engine is not asked; annotations fill empty columns."""
        for attempt in attempts(stream):
            with attempt:
                events = await asyncio.to_thread(self.log.load, stream)
                keys, at_us = {event.key for event in events}, self.now_us()
                fresh = [one for one in annotations if one.key not in keys]
                made = tuple(
                    Event(seq, at_us, "model", "", ANNOTATED, one.data, one.key)
                    for seq, one in enumerate(fresh, events[-1].seq + 1)
                )
                before, after = rows_of_events(events), rows_of_events([*events, *made])
                rows = tuple(row for seq, row in after.items() if row != before[seq])
                if made:
                    await self._append(Append(stream, study, made, origin=Origin.IMPORT, rows=rows))
                return AnnotationCount(len(made), len(annotations) - len(made))
        raise AssertionError  # as above


class SessionService(Sessions):
    """The sessions of the participants that this process serves. All times come from `clock`."""

    def __init__(
        self, database: Database, settings: Settings, clock: Clock, questions: Questions | None = None
    ) -> None:
        super().__init__(database, clock)
        self._database = database
        self._settings = settings
        self._kept = SessionCache()
        self._models = ModelPool(with_saved_servers(settings, database), clock, clock.sleep)
        longest_s = settings.max_retry_wait_s
        policy = RetryPolicy(settings.model_attempts, settings.retry_wait_s, longest_s, longest_s)
        self._caller = Caller(policy, clock, Budget())
        self.claims = AdvisoryLocks(database) if database.dialect.name == "postgresql" else None
        """The locks on work that only one process of those on the database does; None over SQLite, where none other
        can."""
        turn = ReplyLocks(self.claims, self.reload).wait if self.claims else no_lock
        self.tools = SessionTools(database, with_saved_servers(settings, database), clock)
        self._judges = Judges(database, questions, self._reply_context, self.act)
        contents = partial(picture_contents, database)
        self._answering = ReplyTasks(self._reply_context, self.act, turn, self._judges, self.tools, contents)
        self._leaving: set[asyncio.Task[None]] = set()
        self._budget_gate = BudgetGate(database, clock)
        self.closed = self._budget_gate.closed_reason
        """The reason why new participants cannot start a study; None while they can."""

    def prepare(self, study: Study) -> None:
        """Register a study and prepare its models, to find missing settings; SettingsError or a BackendError."""
        self.studies.register(study)
        refuse_without_tools(study)
        for label, model in study.file.models.items():
            self._models.prepare(model, label)

    @property
    def desk_every_s(self) -> float:
        """Seconds after which a page looks again for what the desk did; the more sessions, the longer."""
        return max(DESK_EVERY_S, len(self._kept) / DESK_PER_S)

    def check_configured(self, model: ModelSpec) -> None:
        """Raise SettingsError or BackendRejected if the model's backend cannot be made."""
        self._models.backend(model)

    async def settled(self, stream: str) -> None:
        """Wait until no reply of a session, and no verdict on one, is in progress."""
        await self._answering.settled(stream)
        await self._judges.settled(stream)

    async def close(self) -> None:
        """Stop: replies in progress stay pending, and everything that was accepted is written."""
        await self._answering.close()
        await self._judges.close()
        await self._models.close()
        await asyncio.gather(*self._leaving)
        await self.tools.close()
        if self.claims is not None:
            await asyncio.to_thread(self.claims.close)
        await super().close()

    async def enrol(
        self,
        study: Study,
        *,
        origin: str,
        seed: str = "",
        stream: str = "",
        identity: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] = NOTHING,
        closed_quotas: tuple[Quota, ...] = (),
        zone: str = "",
    ) -> LoadedSession:
        """`seed` and `stream` are drawn at random unless given. With waves it is the first session of a new person,
        in the time zone `zone`. `data` has further data for the `enrolled` event: the `language`, and the `attempt`
        if the person took part before. `closed_quotas`, cells that must not be assigned, are recorded there, because
        the assignment may happen later. Raises Conflict if the stream is taken, Refused if new participants cannot
        start."""
        if (why := await self.closed(study)) is not None and (origin == Origin.PERSON or why == BUDGET):
            raise Refused("closed", CLOSED.format(study=study.name, why=why))
        known: dict[str, Any] = {"study": study.name, "hash": study.hash, "origin": origin}
        known |= {"seed": seed or secrets.token_hex(16)}
        if closed_quotas:
            known |= {"shut": [cap.as_data() for cap in closed_quotas]}
        if study.waves:
            first = wave_schedule(study, WaveHistory(zone=zone), self._clock.now_us())[0]
            known |= wave_data(study, first, uuid4().hex, zone)
        session = LoadedSession(stream or str(uuid4()), study, State())
        who = Arrival({**known, **data}, identity, self._budget_gate.closed_cells(study))
        with nullcontext() if study.admission else self._budget_gate.counting_newcomer(study):
            return await self._count(session, partial(enrolment_append, session, who))

    async def begin_wave(
        self,
        person: persons.Person,
        *,
        early: bool = False,
        zone: str = "",
        seed: str = "",
        stream: str = "",
        identity: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] = NOTHING,
    ) -> LoadedSession:
        """Start the wave that is open now, in the time zone `zone` (as before by default); with `early` also one that
        is still to come, which only a pilot may. Raises Refused if none is open or the study is closed, Conflict if the
        wave was started or the person erased meanwhile."""
        study = self.studies.get(person.hash)
        first = await self.get(person.streams[study.waves[0].id])
        window = next_window(wave_schedule(study, person.history, self._clock.now_us()))
        states = ("open", "late", "upcoming") if early and person.origin == Origin.PILOT else ("open", "late")
        if first is None or window is None or window.state not in states:
            raise Refused("not_offered", NOT_OPEN)
        known = {
            "study": study.name,
            "hash": study.hash,
            "origin": person.origin,
            "seed": seed or secrets.token_hex(16),
        }
        known |= wave_data(study, window, person.id, zone or person.history.zone, first.state)
        session = LoadedSession(stream or str(uuid4()), study, State())
        begun = await self._count(session, partial(enrolment_append, session, Arrival({**known, **data}, identity)))
        if (why := exclusion(first.state.events)) is not None:
            await self.remark(begun.stream, "excluded", why.data["why"], why.data["who"])
        return begun

    async def person(self, id_: str = "", *, stream: str = "") -> persons.Person | None:
        """A person of a study with waves by the id, or by one of their sessions; None if there is none."""
        find, known = (persons.person, id_) if id_ else (persons.person_of, stream)
        return await asyncio.to_thread(find, self._database, known)

    async def reload(self, stream: str) -> LoadedSession | None:
        """A session as it is in the log now, with events that another process has written since it was cached."""
        known = self._kept.get(stream)
        if known is not None and await asyncio.to_thread(self.log.last_seq, stream) != known.state.seq:
            self._forget(stream)
        return await self.get(stream)

    async def load_with_draft(self, stream: str) -> tuple[LoadedSession | None, Mapping[str, Any] | None]:
        """A session and its unsent draft, read in one query where the session is cached."""
        known = self._kept.get(stream)
        if known is None:
            return await self.get(stream), None
        last, typed = await asyncio.to_thread(self.log.last_seq_and_draft, stream, known.screen.path)
        if last != known.state.seq:
            self._kept.drop(stream)
        session = await self.get(stream)
        return session, typed if session is not None and session.screen.path == known.screen.path else None

    async def get(self, stream: str) -> LoadedSession | None:
        """A session, or None, once passed deadlines have taken effect, and pending replies are requested."""
        found = self._kept.get(stream)
        if found is None:
            found = await asyncio.to_thread(self._load, stream)
            if found is None:
                return None
            found = self._kept.put(found)
        before = -1
        while found.state.seq != before and overdue(found.study, found.state, self._clock.now_us()) is not None:
            before, found = found.state.seq, await self._expire(found)  # the session may have ended with the screen
        self._answering.ensure_running(found.stream, found.study, found.state)
        if found.study.has_judges:
            self._judges.ensure_running(found, self._clock.now_us(), lost=True)
        return found

    async def _expire(self, session: LoadedSession) -> LoadedSession:
        """Write the events of a passed deadline. An `away` deadline has no effect after a later sign of activity."""
        typed = await self.draft(session.stream, session.screen.path)
        seen_us = await asyncio.to_thread(self.log.last_sign_us, session.stream)
        attended = await asyncio.to_thread(self.log.was_attended, session.stream, session.screen.path)
        data = {"typed": typed, "seen_us": seen_us, "attended": attended}
        try:
            return await self._write(
                session, Action("expire", session.screen.path, data, self._clock.now_us(), by="system")
            )
        except Refused:
            return self._kept.get(session.stream) or session  # a reply may have been recorded meanwhile
        except Conflict:
            return await self.reload(session.stream) or session

    async def sweep(self) -> None:
        """Apply deadlines to sessions that nobody requests, at most MOST_SWEPT, and let go of unused tool servers."""
        for stream in await asyncio.to_thread(self.log.due, self._clock.now_us(), MOST_SWEPT):
            try:
                await self.reload(stream)
            except Exception:  # a named edge: whatever ails one session, the clock goes on for the others
                log.exception("session %s: failed to act on a deadline", stream)
        await self.tools.close_idle()

    async def act(self, stream: str, action: Action) -> LoadedSession:
        """Perform an action on the cached session; if that is refused as stale, on the session as it is in the log."""
        try:
            return await super().act(stream, action)
        except Refused as refused:
            # The cache may be stale and not the page: another process may have written events.
            if refused.reason != "stale":
                raise
            self._forget(stream)
            return await super().act(stream, action)

    def _forget(self, stream: str) -> None:
        self._kept.drop(stream)

    async def note(self, stream: str, data: Mapping[str, Any]) -> None:
        """Record a `noted` event. It changes no screen, and is accepted for sessions that have ended."""
        await self.act(stream, Action("noted", "", data, self._clock.now_us(), by="researcher"))

    async def participant(
        self, stream: str, kind: str, path: str, data: Mapping[str, Any], **known: Any
    ) -> LoadedSession:
        return await self.act(stream, Action(kind, path, data, self._clock.now_us(), **known))

    async def ask_separately(self, session: LoadedSession, study: Study, task: PendingTask) -> Attempt:
        """Ask a model of `study` that acts as the participant. All attempts are recorded; the last is returned."""
        context = self._reply_context(session.stream, task, session.state, study)
        return (await ask_with_retries(context, study, task.data, task.data["seed"], ReplyBuffer()))[-1]

    def picture(self, stream: str, sha256: str) -> StoredPicture | None:
        return session_picture(self._database, sha256, stream)

    async def times_asked(self, session: LoadedSession, slot: str) -> int:
        return await asyncio.to_thread(times_asked, self._database, session.stream, session.state.seq, slot)

    async def follow(self, session: LoadedSession, offset: int, slot: str = "") -> AsyncIterator[tuple[str, int]]:
        """The reply after `offset` characters, as pairs of a text and the length so far, until it is recorded."""
        reply = self._answering.reply((session.stream, session.screen.path, slot))
        if reply is None and (now := await self.reload(session.stream)):  # it has ended, or runs in another process
            reply = self._answering.reply((now.stream, now.screen.path, slot))
        if reply is not None:
            async for piece in reply.follow(offset):
                yield piece

    async def draft(self, stream: str, path: str) -> dict[str, Any]:
        return await asyncio.to_thread(self.log.draft, stream, path)

    async def save_draft(self, stream: str, path: str, data: Mapping[str, Any]) -> None:
        await asyncio.wrap_future(self.log.save_draft(DraftRow(stream, path, data, self._clock.now_us())))

    def record_telemetry(self, session: LoadedSession, batch: str, records: Sequence[TelemetryRecord]) -> None:
        """Write those records of a page that may be kept (see `telemetry.kept`); returns before the commit."""
        rows = tuple(
            record.row(self._clock.now_us()) for record in storable_records(session.study, session.state, records)
        )
        if rows:
            self.log.record_telemetry(TelemetryBatch(session.stream, batch, rows))

    async def _write(self, session: LoadedSession, action: Action) -> LoadedSession:
        events, state = apply_action(session, action)
        if not events:
            return session
        if session.state.enrolled["origin"] != Origin.REHEARSAL:  # they type as many times as fast as their speed says
            check_message_rate(session.state, events, self._settings.messages_per_minute)
        if changes_quota(session.study, session.state, state):
            return await self._admit(session, action)
        if (job := immediate_task(session.study, state)) is not None and depends_on_others(job):
            return await self._count(session, partial(counted_append, session, action, ()))
        after = session.with_events(events, state)
        await self._append(to_append(session, after, action))
        return await self._written(after)

    async def _admit(self, session: LoadedSession, action: Action) -> LoadedSession:
        """Count the participant against the quota; raises Refused if the study is full or its budget used up."""
        study = session.study
        if await self._budget_gate.closed_reason(study) == BUDGET:
            raise Refused("full", FULL)
        with self._budget_gate.counting_newcomer(study):
            return await self._count(
                session, partial(counted_append, session, action, self._budget_gate.closed_cells(study))
            )

    async def _count(self, session: LoadedSession, make: Callable[[StudyCounts], Append]) -> LoadedSession:
        made = await asyncio.wrap_future(
            self.log.append_counted(AppendWithCounts(session.stream, self._clock.now_us(), make))
        )
        return await self._written(session.with_events(made.events))

    async def _written(self, later_session: LoadedSession) -> LoadedSession:
        """Cache the session after a write, and request its pending replies."""
        self._kept.put(later_session)
        if self._answering.ensure_running(later_session.stream, later_session.study, later_session.state):
            for _ in range(TURNS):
                await asyncio.sleep(0)
        if later_session.study.file.tools and later_session.state.outcome:
            self._leaving.add(task := asyncio.create_task(self._leave_tools(later_session.stream)))
            task.add_done_callback(self._leaving.discard)
        return later_session

    async def _leave_tools(self, stream: str) -> None:
        """Let go of the servers of tools of a session that has ended, once a call in progress is made."""
        await self._answering.settled(stream)
        await self.tools.close_session(stream)

    def _reply_context(self, stream: str, task: PendingTask, state: State, study: Study) -> ReplyContext:
        """The context of a model call for a session. The model is one of `study`; each attempt is recorded."""

        def record(attempt: Attempt) -> None:
            own = {"stream": stream, "turn": state.seq, "slot": task.slot, "path": task.path}
            values = {
                **row_of(attempt, study.name, study.model(attempt.label)),
                "request": request_json(attempt.request, attempt.result.end.adapted),
            }
            self.log.record_attempt(AttemptRow({**own, **values})).add_done_callback(_log_write_failure)

        limits = self._settings
        if most := task.data.get("max_chars"):
            limits = limits.model_copy(update={"max_reply_chars": min(most, limits.max_reply_chars)})
        return ReplyContext(stream, limits, self._caller, self._access, self._writable, record)

    def _access(self, study: Study, model: str) -> ModelAccess:
        return self._models.access(model, study.model(model))

    async def _writable(self) -> None:
        """Wait while the log cannot be written, because a reply would be lost."""
        while self.log.fault:
            await asyncio.sleep(LOOK_S)  # real time and not `clock`, like the writer


def _log_write_failure(written: Future[None]) -> None:
    """Log that an attempt could not be written. The reply does not depend on it: its event has all that is needed."""
    if (error := written.exception()) is not None:
        log.error("failed to write an attempt: %s", error)
