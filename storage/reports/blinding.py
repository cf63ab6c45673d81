"""Blinding in a study: replies that revealed which model wrote them, and the participants' guesses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, assert_never

from experiments.errors import suggestion
from experiments.events import Event
from experiments.session.conversation import is_by_model
from experiments.session.guesses import UNSURE, Verdict, repliers, true_options, verdict
from experiments.steps.guess import GuessStep
from experiments.study.study import Study
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log.folded_sessions import folded_sessions
from storage.registers.origins import Origin, origins
from storage.registers.studies import Studies

INDEX = re.compile(r"\[\d+\]")
ALL = ""
# What guesses are told apart by besides factors, whose names have no blank: the models that they are about.
REPLIED = "who replied"


@dataclass
class LeakCount:
    """A model's replies under a condition, and those that revealed it, with the words that did."""

    model: str
    by: str
    value: str
    replies: int = 0
    flagged: int = 0
    words: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float | None:
        return self.flagged / self.replies if self.replies else None


@dataclass
class GuessCount:
    """The guesses at a step; `nobody`: no model had replied; `expected`: the number right by chance."""

    step: str
    by: str
    value: str
    right: int = 0
    wrong: int = 0
    unsure: int = 0
    nobody: int = 0
    expected: float = 0.0
    given: Counter[str] = field(default_factory=Counter)

    def add(self, guess: str, found: Verdict | None, chance: float) -> None:
        self.given[guess] += 1
        match found:
            case "right" | "wrong":
                self.right += found == "right"
                self.wrong += found == "wrong"
                self.expected += chance
            case "unsure":
                self.unsure += 1
            case None:
                self.nobody += 1
            case _ as other:
                assert_never(other)

    @property
    def number(self) -> int:
        return self.right + self.wrong + self.unsure + self.nobody

    @property
    def share(self) -> float | None:
        """The share of right ones among those that are right or wrong."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def chance(self) -> float | None:
        return self.expected / (self.right + self.wrong) if self.right + self.wrong else None


@dataclass(frozen=True)
class Blinding:
    study: str
    origin: str
    sessions: int
    leaks: tuple[LeakCount, ...]
    guesses: tuple[GuessCount, ...]

    def as_json(self) -> dict[str, Any]:
        """The report for programs; words and guesses by how often they came."""
        found: dict[str, Any] = asdict(self)
        for row, leaks in zip(found["leaks"], self.leaks, strict=True):
            row |= {"share": leaks.share, "words": dict(leaks.words.most_common())}
        for row, guesses in zip(found["guesses"], self.guesses, strict=True):
            del row["expected"]
            more = {"number": guesses.number, "share": guesses.share, "chance": guesses.chance}
            row |= {**more, "given": dict(guesses.given.most_common())}
        return found


# The steps that ask for a guess: by the study's hash, by path without the numbers of turns.
Asked = Mapping[str, Mapping[str, Sequence[GuessStep]]]


def blinding(database: Database, study: str, origin: str | None = None, by: Sequence[str] | None = None) -> Blinding:
    """The report of a study, of people's sessions if it has any; by some factors, or by all. Raises StorageError."""
    with database.connect() as connection:
        compared = [name for name in origins(connection, study, origin) if name != Origin.IMPORT]
    if not compared:
        raise StorageError(f"{study!r} was imported, and a release does not have participants' guesses")
    versions = Studies(database).with_sessions(study, compared[0])
    factors = tuple(dict.fromkeys(name for version in versions for name in version.file.factors))
    for name in by or ():
        if name not in factors:
            raise StorageError(f"{study!r} has no factor {name!r}{suggestion(name, factors)}")
    asked = {version.hash: asked_in(version) for version in versions}
    report = BlindingCounter(factors if by is None else tuple(by), asked)
    for session in folded_sessions(database, study, compared[:1]):
        report.read(session.study.hash, session.state.events)
    return Blinding(study, compared[0], report.sessions, *report.sorted(versions))


def asked_in(study: Study) -> dict[str, list[GuessStep]]:
    """The steps of a study that ask for a guess, by path; several where only one of them is ever asked."""
    found: dict[str, list[GuessStep]] = {}
    for path, step in study.steps:
        if isinstance(step, GuessStep):
            found.setdefault(path.replace("[*]", ""), []).append(step)
    return found


class BlindingCounter:
    """The counts, fact by fact; of a session it remembers who replied where until the next one begins."""

    def __init__(self, factors: Sequence[str], asked: Asked) -> None:
        self.sessions = 0
        self._factors, self._asked = factors, asked
        self._leaks: dict[tuple[str, str, str], LeakCount] = {}
        self._guesses: dict[tuple[str, str, str], GuessCount] = {}
        self._conditions: list[tuple[str, str]] = []
        self._replies: list[tuple[str, str]] = []
        self._last: dict[tuple[str, str | None], str] = {}
        self._shown: dict[str, Sequence[str]] = {}

    def read(self, study: str, events: Iterable[Event]) -> None:
        self.sessions += 1
        self._conditions, self._replies, self._last, self._shown = [(ALL, "")], [], {}, {}
        for event in events:
            data = event.data
            match event.kind:
                case "assigned":
                    drawn = data["factors"]
                    self._conditions += [(name, drawn[name]) for name in self._factors if name in drawn]
                case "replied" | "opened" if is_by_model(event) and data.get("model") is not None:
                    self._replied(event, data["model"])
                case "flagged" if event.by == "model" and data.get("what") == "leak":
                    self._flagged(self._last[event.path, data.get("slot")], data["words"])
                case "ordered":
                    self._shown[event.path] = data.get("choices", {}).get("guess", ())
                case "submitted":
                    self._guessed(study, event)
                case _:
                    pass

    def _replied(self, event: Event, model: str) -> None:
        self._replies.append((event.path, model))
        self._last[event.path, event.data.get("slot")] = model
        for row in self._rows(model):
            row.replies += 1

    def _flagged(self, model: str, words: Sequence[str]) -> None:
        for row in self._rows(model):
            row.flagged += 1
            row.words.update(words)

    def _rows(self, model: str) -> Iterator[LeakCount]:
        """The rows that count for a reply of a model; its own factor would only say the same again."""
        for by, value in self._conditions:
            if by != "model":
                yield self._leaks.setdefault((model, by, value), LeakCount(model, by, value))

    def _guessed(self, study: str, event: Event) -> None:
        path, data = INDEX.sub("", event.path), event.data
        step = _step_of(self._asked.get(study, {}).get(path, ()), self._shown.get(event.path, ()))
        if step is None:
            return
        models = repliers(event.path, self._replies)
        found = verdict(data["guess"], step.truth, models)
        who = [(REPLIED, " + ".join(sorted(models)))] if models else []
        for by, value in (*self._conditions, *who):
            row = self._guesses.setdefault((path, by, value), GuessCount(path, by, value))
            row.add(data["guess"], found, len(true_options(step.truth, models)) / len(step.options))

    def sorted(self, studies: Sequence[Study]) -> tuple[tuple[LeakCount, ...], tuple[GuessCount, ...]]:
        """The rows: models, steps and factors in the order of the study, conditions after all, values by name."""
        models = list(dict.fromkeys(name for version in studies for name in version.file.models))
        steps = list(dict.fromkeys(path for found in self._asked.values() for path in found))
        order = [ALL, *self._factors, REPLIED]
        leaks = sorted(self._leaks.values(), key=lambda x: (models.index(x.model), order.index(x.by), x.value))
        guesses = sorted(self._guesses.values(), key=lambda x: (steps.index(x.step), order.index(x.by), x.value))
        return tuple(leaks), tuple(guesses)


def _step_of(steps: Sequence[GuessStep], shown: Sequence[str]) -> GuessStep | None:
    """The step that was answered: of those at one path the one whose options were shown."""
    return next((step for step in steps if {*step.options, UNSURE} == {*shown}), None)
