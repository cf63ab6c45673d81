"""The calls of a plan that are not stored yet, and their order.

Breadth comes first: sample 0 of all cells, then sample 1, so that a run that ends early is balanced. What is kept of a
plan is a number a cell, so that memory does not grow with samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from app.backends.model_ref import ModelRef
from app.batch.task import Task
from storage.ai_alone.replies import KEYS_AT_ONCE, progress
from storage.db.engine import Database


@dataclass(frozen=True, slots=True)
class ModelKey:
    backend: str
    server: str | None
    name: str


@dataclass(slots=True)
class Sample:
    cell: Task
    key: str
    number: int
    begun: bool
    """True if some of its steps are stored but their texts are not read yet."""
    texts: tuple[str, ...] = ()


@dataclass(slots=True)
class CellProgress:
    """A cell of the plan, as its place there; samples as the bits of numbers."""

    index: int
    key: str
    samples: int
    complete: int = 0
    begun: int = 0

    def note(self, sample: int, steps: int, ended: bool, most: int) -> None:
        if ended or steps >= most:
            self.complete |= 1 << sample
        elif steps:
            self.begun |= 1 << sample

    @property
    def stored(self) -> int:
        return (self.complete & ((1 << self.samples) - 1)).bit_count()

    def missing(self, step: int) -> int:
        """The number of samples that lack a step; samples that have begun have at least the first."""
        started = 0 if step else (self.begun & ~self.complete & ((1 << self.samples) - 1)).bit_count()
        return self.samples - self.stored - started


@dataclass(slots=True)
class PendingSamples:
    cells: Sequence[Task]
    asked: dict[ModelKey, ModelRef] = field(default_factory=dict)
    _known: dict[str, CellProgress] = field(default_factory=dict)
    _of: defaultdict[ModelKey, list[CellProgress]] = field(default_factory=lambda: defaultdict(list))

    @property
    def known(self) -> Collection[CellProgress]:
        return self._known.values()

    @property
    def samples(self) -> int:
        return sum(one.samples for one in self._known.values())

    @property
    def stored(self) -> int:
        return sum(one.stored for one in self._known.values())

    def missing(self, key: ModelKey) -> Iterator[Sample]:
        """The samples that are not complete, of the cells that ask a model first; sample 0 of all, then the next."""
        known = self._of[key]
        for number in range(max((one.samples for one in known), default=0)):
            for one in known:
                if number < one.samples and not one.complete >> number & 1:
                    yield Sample(self.cells[one.index], one.key, number, bool(one.begun >> number & 1))

    def add(self, index: int, task: Task) -> None:
        """Add a cell; cells with identical calls are merged."""
        key, question = task.key, task.next(())
        if question is None:
            return
        if key in self._known:
            self._known[key].samples = max(self._known[key].samples, task.samples)
            return
        where = model_key_of(question.asked)
        self.asked.setdefault(where, question.asked)
        known = self._known[key] = CellProgress(index, key, task.samples)
        self._of[where].append(known)

    def refresh(self, database: Database, tasks: Sequence[Task]) -> None:
        steps = {cell.key: cell.steps for cell in tasks}
        for key, sample, count, ended in progress(database, steps):
            if key in self._known:
                self._known[key].note(sample, count, ended, steps[key])


def model_key_of(model: ModelRef) -> ModelKey:
    return ModelKey(model.model.backend, model.model.server, model.name)


def find_pending(database: Database, tasks: Sequence[Task]) -> PendingSamples:
    found = PendingSamples(tasks)
    for start in range(0, len(tasks), KEYS_AT_ONCE):
        some = tasks[start : start + KEYS_AT_ONCE]
        for index, cell in enumerate(some, start):
            found.add(index, cell)
        found.refresh(database, some)
    return found
