"""The runtime: the one door by which people, simulated participants and model servers act on sessions.

`act` loads what is known, lets the engine decide, appends the facts and all that is owed at once (assignment,
draws, the end) in one transaction, and answers after the commit. If another writer was first it reads again and
decides again. A reply that is owed is asked for in a task; a crash leaves it owed, so a restart is the ordinary path.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from app.backends import registry as backends
from app.backends.base import Backend, Prepared
from app.clock import Clock
from app.purse import BUDGET, Purse
from app.replies.answering import Answering
from app.replies.breaker import Breaker
from app.replies.patient import Attempt, Means, attempt_values
from app.settings import Settings
from experiments.core.events import Action, Event, Job
from experiments.core.hurry import refuse_hurry
from experiments.core.model import Model
from experiments.core.place import State, language_of
from experiments.core.resolve import Study
from experiments.core.screen import Screen
from experiments.core.session import decide, fold, owed, screen
from experiments.errors import Refused
from storage.engine import Database
from storage.errors import Conflict, StorageError
from storage.log import Append, Draft, Enrolment, Log, Spent
from storage.log import Attempt as AttemptRow
from storage.projections import changed_rows, rows_of
from storage.schemas.base import Row
from storage.studies import Studies
from storage.supply import taken

MOST_TRIES = 20
MOST_KEPT = 5_000
TURNS = 2
"""Turns of the event loop for which a click waits once it is written, so that the model is asked before the page is
painted: one for the reply's task, one for the client that sends the request."""
COMPLETE = ("submitted", "voted")
"""The kinds of facts that complete rows of released tables."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Live:
    """A session as far as it is known: its study, its folded facts and the rows that they imply."""

    stream: str
    study: Study
    state: State
    rows: Mapping[tuple[Any, ...], Row] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The language that its participant chose, or else the study's own."""
        return language_of(self.study, self.state)

    @property
    def screen(self) -> Screen:
        """What the participant sees now."""
        return screen(self.study, self.state)


class Runtime:
    """Sessions at work over one database. Times come from `clock`, models from the registry of backends."""

    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self.studies = Studies(database)
        self.log = Log(database)
        self._database = database
        self._settings = settings
        self._clock = clock
        self._backends: dict[tuple[str, str | None], Backend] = {}
        self._kept: OrderedDict[str, Live] = OrderedDict()
        self._breakers: dict[tuple[str, str | None, str], Breaker] = {}
        self._answering = Answering(self._means, self.act)
        self._purse = Purse(database, clock)
        self._drawing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def prepare(self, study: Study) -> None:
        """Keep a study, and make its backends, so that a missing setting is told now; raises SettingsError."""
        self.studies.register(study)
        for model in study.file.models.values():
            backend = self._backend(model)
            if isinstance(backend, Prepared):
                backend.prepare(model.options)

    async def close(self) -> None:
        """Stop: replies on their way are left owed, everything that was accepted is written."""
        await self._answering.close()
        await self._purse.close()
        for backend in self._backends.values():
            await backend.close()
        await asyncio.to_thread(self.log.close)

    async def enrol(
        self,
        study: Study,
        *,
        origin: str,
        seed: str = "",
        stream: str = "",
        identity: Mapping[str, Any] | None = None,
        language: str = "",
    ) -> Live:
        """Begin a session; `seed` and `stream` are drawn unless given, `language` is the study's own.

        Raises Conflict if the stream is taken, and Refused if nobody new can begin.
        """
        if (why := await self.closed(study)) is not None and (origin == "person" or why == BUDGET):
            raise Refused("closed", f"Nobody new can begin {study.name} at the moment ({why}).")
        self._purse.begins(study)
        stream = stream or str(uuid4())
        data = {
            "study": study.name,
            "hash": study.hash,
            "origin": origin,
            "seed": seed or secrets.token_hex(16),
        } | ({"language": language} if language else {})
        action = Action("enrol", "", data, self._clock.now_us(), by="system")
        enrolment = Enrolment(study.name, study.hash, origin, identity)
        return await self._write(Live(stream, study, State()), action, enrolment)

    async def closed(self, study: Study) -> str | None:
        """Why nobody new can begin a study; None while people can."""
        return await self._purse.closed(study)

    async def live(self, stream: str) -> Live | None:
        """A session by its stream; None if there is none. What it is owed is seen to."""
        found = self._kept.get(stream)
        if found is None:
            found = await asyncio.to_thread(self._load, stream)
            if found is None:
                return None
            found = self._keep(found)
        self._answering.settle(found.stream, found.study, found.state)
        return found

    async def act(self, stream: str, action: Action) -> Live:
        """Let an action happen; returns after the commit. Raises Refused, or StorageError if it cannot be written."""
        read_again = False
        for _ in range(MOST_TRIES):
            found = await self.live(stream)
            if found is None:
                raise Refused("ended", "This session is not known here. Please use the link that you were given.")
            try:
                return await self._write(found, action)
            except Conflict:
                self._kept.pop(stream, None)
            except Refused as refused:
                # Perhaps it is not the page that is behind, but what another process wrote is not known here yet.
                if read_again or refused.reason != "stale":
                    raise
                read_again = True
                self._kept.pop(stream, None)
        raise StorageError(f"{stream}: other writers were first {MOST_TRIES} times")

    async def participant(self, stream: str, kind: str, path: str, data: Mapping[str, Any], **known: Any) -> Live:
        """A participant's action, dated now; `known` holds `seen` and `key`."""
        return await self.act(stream, Action(kind, path, data, self._clock.now_us(), **known))

    async def follow(self, stream: str, offset: int, slot: str = "") -> AsyncIterator[tuple[str, int]]:
        """The reply on its way in a session, after its first `offset` characters; ends when it is recorded."""
        await self.live(stream)
        async for piece in self._answering.follow(stream, slot, offset):
            yield piece

    async def draft(self, stream: str, path: str) -> dict[str, Any]:
        """What has been typed at a place and not yet sent."""
        return await asyncio.to_thread(self.log.draft, stream, path)

    async def save_draft(self, stream: str, path: str, data: Mapping[str, Any]) -> None:
        """Keep what has been typed at a place and not yet sent."""
        await asyncio.wrap_future(self.log.save_draft(Draft(stream, path, data, self._clock.now_us())))

    async def settled(self, stream: str) -> None:
        """Wait until no reply is on its way in a session."""
        await self._answering.settled(stream)

    def _load(self, stream: str) -> Live | None:
        events = self.log.load(stream)
        if not events:
            return None
        state = fold(events)
        study = self.studies.get(state.enrolled["hash"])
        return Live(stream, study, state, rows_of(study, state))

    def _keep(self, live: Live) -> Live:
        """The newest that is known: what was read before a write may arrive here after it."""
        known = self._kept.get(live.stream)
        newest = known if known is not None and known.state.seq > live.state.seq else live
        self._kept[live.stream] = newest
        self._kept.move_to_end(live.stream)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return newest

    async def _write(self, live: Live, action: Action, enrolment: Enrolment | None = None) -> Live:
        events, state = _with_what_follows(live, action)
        if not events:
            return live
        refuse_hurry(live.state, events, self._settings.messages_per_minute)
        if _draw_that_counts(live.study, state) is None:
            return await self._append(live, action, events, state, enrolment)
        # Whoever draws next counts what this one took; across processes roughly, until an advisory lock (PostgreSQL).
        async with self._drawing[live.study.name]:
            while (job := _draw_that_counts(live.study, state)) is not None:
                draw = await self._counted(live.study, state, job, action.at_us)
                more, state = _with_what_follows(replace(live, state=state), draw)
                events += more
            return await self._append(live, action, events, state, enrolment)

    async def _counted(self, study: Study, state: State, job: Job, at_us: int) -> Action:
        """A draw, with how often each problem is taken now."""
        origin = state.enrolled["origin"]
        counts = await asyncio.to_thread(taken, self._database, study.name, origin, job.path, self._clock.now_us())
        return Action("draw", job.path, {"taken": counts}, at_us, by="system")

    async def _append(
        self, live: Live, action: Action, events: tuple[Event, ...], state: State, enrolment: Enrolment | None
    ) -> Live:
        """Write the facts of an action with what they imply; see to what is owed then."""
        done = any(event.kind == "submitted" for event in events)
        rows = rows_of(live.study, state) if any(event.kind in COMPLETE for event in events) else live.rows
        spent = Spent(action.path, None if done else tuple(action.data)) if action.by == "participant" else None
        work = Append(live.stream, live.study.name, events, changed_rows(live.rows, rows), enrolment, spent)
        await asyncio.wrap_future(self.log.append(work))
        after = Live(live.stream, live.study, state, rows)
        self._keep(after)
        self._answering.settle(after.stream, after.study, after.state)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return after

    def _means(self, stream: str, job: Job, state: State) -> Means:
        """What asking for a session's reply needs; each attempt is kept in the database."""

        async def record(attempt: Attempt) -> None:
            study = self.studies.get(state.enrolled["hash"])
            values = attempt_values(study, attempt)
            own = {"stream": stream, "turn": state.seq, "slot": job.slot, "path": job.path}
            await asyncio.wrap_future(self.log.record_attempt(AttemptRow({**own, **values})))

        return Means(self._settings, self._clock, self._backend_of, self._breaker_of, self._purse.look, record)

    def _backend_of(self, study: Study, model: str) -> Backend:
        return self._backend(study.model(model))

    def _breaker_of(self, study: Study, model: str) -> Breaker:
        found = study.model(model)
        key = (found.backend, found.server, found.model or model)
        if key not in self._breakers:
            pause_s, failures = self._settings.breaker_pause_s, self._settings.breaker_failures
            self._breakers[key] = Breaker(self._clock, failures, pause_s)
        return self._breakers[key]

    def _backend(self, model: Model) -> Backend:
        key = (model.backend, model.server)
        if key not in self._backends:
            self._backends[key] = backends.create(model.backend, self._settings, self._clock.sleep, model.server)
        return self._backends[key]


def _draw_that_counts(study: Study, state: State) -> Job | None:
    """The owed draw that goes by how often each problem is taken by all participants; None if none is owed."""
    return next((job for job in owed(study, state) if job.kind == "draw" and "target" in job.data), None)


def _with_what_follows(live: Live, action: Action) -> tuple[tuple[Event, ...], State]:
    """The facts of an action and of everything owed at once after it, and the state that they make.

    It stops before a draw that needs counts, as before replies.
    """
    events: Sequence[Event] = decide(live.study, live.state, action)
    state = fold(events, live.state)
    while events and (jobs := owed(live.study, state)) and jobs[0].kind != "reply":
        if "target" in jobs[0].data:
            break
        more = decide(live.study, state, Action(jobs[0].kind, jobs[0].path, {}, action.at_us, by="system"))
        events, state = (*events, *more), fold(more, state)
    return tuple(events), state
