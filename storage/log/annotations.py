"""What annotators found, written as facts of the conversations' streams: `annotated`, by a model.

They change no participant's screen, as notes do not (storage/log/notes.py). A finding has a key that names the
annotator, the conversation and the cell that it was asked as, so that to write it again is no change; imported streams
take such facts as well, and importing their files again is still no change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from experiments.errors import Refused
from experiments.events import Action, Event
from experiments.session.annotations import ANNOTATED, About, where
from experiments.session.engine import decide, fold
from storage.errors import Conflict, StorageError
from storage.log.event_log import Log
from storage.log.projections import changed_rows, rows_of
from storage.log.write_requests import Append
from storage.registers.imported_rows import ORIGIN, rows_told
from storage.registers.studies import Studies

TRIES = 20
AT_ONCE = 200
"""So many sessions are written side by side: they share their commits."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding: about which conversation, by which annotator and model, in which run, asked as which cell."""

    about: About
    annotator: str
    model: str
    values: Mapping[str, Any]
    run: str
    cell: str

    @property
    def key(self) -> str:
        """What makes it one fact, however often it is written."""
        return sha256(orjson.dumps([ANNOTATED, self.annotator, self.cell, *self.about])).hexdigest()

    @property
    def data(self) -> dict[str, Any]:
        """The data of its fact."""
        own = {"annotator": self.annotator, "model": self.model, "values": dict(self.values)}
        return {**own, "run": self.run, "cell": self.cell, **where(self.about)}


@dataclass(frozen=True, slots=True)
class Written:
    """How many facts are new, were there before, or can be no more, because the participant has withdrawn."""

    new: int = 0
    known: int = 0
    gone: int = 0


class Annotations:
    """The writing side, for the sessions of one study."""

    def __init__(self, log: Log, studies: Studies, study: str, at_us: int) -> None:
        self._log, self._studies, self._study, self._at_us = log, studies, study, at_us

    def write(self, by_stream: Mapping[str, Sequence[Annotation]]) -> Written:
        """Write every finding that is not there yet; each session's together."""
        waiting: deque[tuple[str, Future[None]]] = deque()
        new = known = gone = 0
        for stream, found in by_stream.items():
            if len(waiting) >= AT_ONCE:
                self._settle(by_stream, *waiting.popleft())
            work = self._work(stream, found)
            if work is None:
                gone += len(found)
                continue
            new += len(work.events)
            known += len(found) - len(work.events)
            if work.events:
                waiting.append((stream, self._log.append(work)))
        while waiting:
            self._settle(by_stream, *waiting.popleft())
        return Written(new, known, gone)

    def _settle(self, by_stream: Mapping[str, Sequence[Annotation]], stream: str, done: Future[None]) -> None:
        """Wait for a session's facts; where somebody else was first with the next number, read and write again."""
        for _ in range(TRIES):
            try:
                done.result()
                return
            except Conflict:
                work = self._work(stream, by_stream[stream])
                if work is None or not work.events:
                    return
                done = self._log.append(work)
        raise StorageError(f"{stream}: other writers were first {TRIES} times; run it again")

    def _work(self, stream: str, found: Iterable[Annotation]) -> Append | None:
        """What is to be written of a session; None if it is gone."""
        events = self._log.load(stream)
        if any(event.kind == "recorded" for event in events[:1]):
            return self._imported(stream, events, found)
        state = fold(events)
        if "hash" not in state.enrolled or state.outcome == "withdrawn":
            return None
        study = self._studies.get(state.enrolled["hash"])
        before, made = rows_of(study, state), list[Event]()
        for one in found:
            action = Action("annotate", "", one.data, self._at_us, by="model", key=one.key)
            try:
                told = decide(study, state, action)
            except Refused:
                return None
            made, state = [*made, *told], fold(told, state)
        rows = changed_rows(before, rows_of(study, state))
        return Append(stream, study.name, tuple(made), origin=state.enrolled["origin"], rows=rows)

    def _imported(self, stream: str, events: Sequence[Event], found: Iterable[Annotation]) -> Append:
        keys, last, made = {event.key for event in events}, events[-1].seq, list[Event]()
        for one in found:
            if one.key not in keys:
                made.append(Event(last + len(made) + 1, self._at_us, "model", "", ANNOTATED, one.data, one.key))
        before, after = rows_told(events), rows_told([*events, *made])
        rows = tuple(row for seq, row in after.items() if row != before[seq])
        return Append(stream, self._study, tuple(made), origin=ORIGIN, rows=rows)
