"""The answers of models that were asked alone, as scoring read them out of their replies, and what follows from them.

`ai_answer` has a row for each sample; the released tables' rows, and what a study's status tells, are added up from it
by the database, whatever methods there are: what counts has a `right`, what is invalid counts and was not answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Integer, and_, case, cast, delete, func, insert, select

from storage import tables
from storage.ai_alone.replies import Kind
from storage.db.engine import Database, writer
from storage.db.recorded_schemas import recorded_schemas
from storage.db.upsert import RowOwner, upsert_rows
from storage.schemas.base import AiAloneTally, ReleasedRow
from storage.schemas.registry import schemas
from storage.tables import answers, cells

ALONE: Kind = "alone"
# How the names of the methods begin whose answer is the first character of the reply.
LETTER = "letter_only"
_answer, _cell, _try = answers.c, cells.c, tables.attempts.c


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a cell's sample; `right` is None where it does not count."""

    cell: str
    sample: int
    outcome: str
    answer: str | None
    right: bool | None


@dataclass(frozen=True, slots=True)
class MethodProgress:
    model: str
    name: str
    dataset: str
    wanted: int
    outcomes: Mapping[str, int]
    counted: int
    right: int
    cost: float | None
    """None where no reply's cost is known."""


def save_answers(database: Database, study: str, whole: Sequence[str], model_answers: Iterable[ModelAnswer]) -> int:
    """Replace the answers read from these cells; the number of samples."""
    rows = [
        {
            "study": study,
            "cell": one.cell,
            "sample": one.sample,
            "outcome": one.outcome,
            "answer": one.answer,
            "right": None if one.right is None else int(one.right),
        }
        for one in model_answers
    ]
    with writer(database) as connection, connection.begin():
        connection.execute(delete(answers).where(_answer.study == study, _answer.cell.in_(whole)))
        if rows:
            connection.execute(insert(answers), rows)
    return len(rows)


def derive_answers(database: Database, study: str) -> int:
    """Make the rows of a study's released tables that follow from its answers anew; how many there are."""
    with writer(database) as connection, connection.begin():
        for name in recorded_schemas(connection, study):
            for released in schemas()[name].tables:
                if released.of_alone:
                    own = released.table()
                    mine = own.c["_study"] == study, own.c["_session"] == ""
                    connection.execute(delete(own).where(*mine))
        rows = alone_rows(connection, study)
        upsert_rows(connection, RowOwner(study), rows)
    return len(rows)


def alone_rows(connection: Connection, study: str) -> list[ReleasedRow]:
    found = list(_tallies(connection, study))
    return [row for name in recorded_schemas(connection, study) for row in schemas()[name].alone_rows(found)]


def asked_alone(connection: Connection, study: str) -> bool:
    return connection.execute(select(_cell.cell).where(*_mine(study)).limit(1)).first() is not None


def method_progress(database: Database, study: str) -> list[MethodProgress]:
    """By model, method and dataset, in the order in which they were first planned."""
    by = _cell.model, _cell.name, _cell.dataset
    with database.connect() as connection:
        planned = select(*by, func.sum(_cell.samples)).where(*_mine(study)).group_by(*by)
        wanted = {tuple(row[:3]): row[3] for row in connection.execute(planned.order_by(func.min(_cell.position)))}
        costs = _costs(connection, study)
        found: dict[Any, dict[str, tuple[int, int, int]]] = {key: {} for key in wanted}
        columns = _answer.outcome, func.count(), func.count(_answer.right), func.coalesce(func.sum(_answer.right), 0)
        read = select(*by, *columns).join(answers, _joined()).where(*_mine(study)).group_by(*by, _answer.outcome)
        for *key, outcome, count, counted, right in connection.execute(read):
            found[tuple(key)][outcome] = (count, counted, right)
    return [
        MethodProgress(
            model=model,
            name=name,
            dataset=dataset,
            wanted=wanted[model, name, dataset],
            outcomes={outcome: count for outcome, (count, *_) in parts.items()},
            counted=sum(counted for _, counted, _ in parts.values()),
            right=sum(right for *_, right in parts.values()),
            cost=costs.get((model, name, dataset)),
        )
        for (model, name, dataset), parts in found.items()
    ]


def usual_answers(database: Database, study: str, model: str, name: str) -> Mapping[tuple[str, str], str]:
    """A model's most frequent answer (of several the earliest sample's) by dataset and problem, in the order of the
    plan. Problems without an answer that could be read are left out."""
    read = select(_cell.dataset, _cell.problem, _answer.answer).join(answers, _joined())
    read = read.where(*_mine(study), _cell.model == model, _cell.name == name, _answer.answer.is_not(None))
    given: dict[tuple[str, str], Counter[str]] = {}
    with database.connect() as connection:
        for dataset, problem, answer in connection.execute(read.order_by(_cell.position, _answer.sample)):
            given.setdefault((dataset, problem), Counter())[answer] += 1
    return {problem: counts.most_common(1)[0][0] for problem, counts in given.items()}


def longer_than_a_letter(database: Database, study: str) -> Mapping[tuple[str, str], int]:
    """The number of answers read from the start of a longer reply, by model and method that asks for a letter."""
    reply = func.length(func.trim(_try.text)) > 1, _try.step == 0, _try.reason.is_(None)
    matching = and_(_try.cell == _answer.cell, _try.sample == _answer.sample)
    read = select(_cell.model, _cell.name, func.count()).join(answers, _joined()).join(tables.attempts, matching)
    asked = *_mine(study), _cell.name.startswith(LETTER), _answer.outcome == "answered", *reply
    with database.connect() as connection:
        return {
            (model, name): n
            for model, name, n in connection.execute(read.where(*asked).group_by(_cell.model, _cell.name))
        }


def sum_of(progress: Sequence[MethodProgress]) -> MethodProgress:
    """Several standings of a model and a method as one, of no dataset."""
    outcomes: Counter[str] = Counter()
    for one in progress:
        outcomes.update(one.outcomes)
    costs = [one.cost for one in progress if one.cost is not None]
    wanted, counted, right = (sum(getattr(one, name) for one in progress) for name in ("wanted", "counted", "right"))
    return MethodProgress(
        progress[0].model, progress[0].name, "", wanted, outcomes, counted, right, sum(costs) if costs else None
    )


def _costs(connection: Connection, study: str) -> dict[Any, float | None]:
    by = _cell.model, _cell.name, _cell.dataset
    spent = select(*by, func.sum(_try.cost)).join(tables.attempts, _try.cell == _cell.cell).where(*_mine(study))
    return {tuple(key): cost for *key, cost in connection.execute(spent.group_by(*by))}


def _tallies(connection: Connection, study: str) -> Iterator[AiAloneTally]:
    """The sums over the answers to each problem, by model and method; a model's problems in the order of its plan."""
    counted = _answer.right.is_not(None)
    numbers = (
        func.count(_answer.right),
        func.coalesce(func.sum(_answer.right), 0),
        func.sum(cast(case((and_(counted, _answer.outcome != "answered"), 1), else_=0), Integer)),
    )
    by = _cell.model, _cell.dataset, _cell.problem, _cell.name
    wanted = select(*by, *numbers).join(answers, _joined()).where(*_mine(study)).group_by(*by)
    for row in connection.execute(wanted.order_by(_cell.model, func.min(_cell.position), _cell.problem)):
        yield AiAloneTally(*row)


def _mine(study: str) -> tuple[Any, ...]:
    return _cell.study == study, _cell.kind == ALONE


def _joined() -> Any:
    return and_(_answer.study == _cell.study, _answer.cell == _cell.cell)
