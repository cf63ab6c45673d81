"""Models that made data of a study: their calls, when, with which prompt, and with what result; and the progress of
annotating, from the cells, their replies and the facts alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import and_, case, func, select

from experiments.session.annotations import ANNOTATED
from storage import tables
from storage.ai_alone.answers import ALONE, longer_than_a_letter, method_progress, sum_of
from storage.ai_alone.replies import Kind
from storage.ai_alone.runs import runs
from storage.db.engine import Database
from storage.tables import cells

# In place of a model, where something was known without asking one.
NOBODY = ""
BECAME = ("annotated", "unparsed", "refused", "failed", "missing")
_cell, _try, _fact, _session = cells.c, tables.attempts.c, tables.events.c, tables.sessions.c


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """The calls of a model for an annotator, by result; `unparsed` are replies that say nothing."""

    annotator: str
    model: str
    asked: int
    annotated: int
    unparsed: int
    refused: int
    failed: int
    missing: int
    cost: float | None
    """None where no reply's cost is known."""


def annotated_by(database: Database, study: str) -> list[AnnotatorProgress]:
    joined = cells.outerjoin(tables.attempts, and_(_try.cell == _cell.cell, _try.sample == 0, _try.step == 0))
    came = {
        "replied": func.max(case((_try.reason.is_(None) & _try.cell.is_not(None), 1), else_=0)),
        "refused": func.max(case((_try.reason.in_(tables.SETTLED), 1), else_=0)),
        "failed": func.count(_try.reason),
    }
    by = (_cell.name, _cell.model, _cell.cell)
    query = select(*by, *came.values(), func.sum(_try.cost)).select_from(joined).group_by(*by)
    query = query.where(_cell.study == study, _cell.kind == "annotation")
    statement = select(_fact.data).join(tables.sessions, _session.stream == _fact.stream)
    counts: dict[tuple[str, str], Counter[str]] = {}
    costs: dict[tuple[str, str], float] = {}
    with database.connect() as connection:
        facts = connection.execute(statement.where(_session.study == study, _fact.kind == ANNOTATED)).scalars().all()
        found = {data["cell"] for data in facts if data["cell"]}
        for name, model, cell, *numbers, cost in connection.execute(query):
            became = "annotated" if cell in found else _became(*numbers)
            counts.setdefault((name, model), Counter())[became] += 1
            if cost is not None:
                costs[name, model] = costs.get((name, model), 0.0) + cost
    for data in facts:
        if not data["cell"]:
            counts.setdefault((data["annotator"], NOBODY), Counter())["annotated"] += 1
    return [_standing(by, counts[by], costs.get(by)) for by in sorted(counts)]


def _became(replied: int, refused: int, failed: int) -> str:
    return "unparsed" if replied else "refused" if refused else "failed" if failed else "missing"


def _standing(by: tuple[str, str], counts: Counter[str], cost: float | None) -> AnnotatorProgress:
    asked = 0 if by[1] == NOBODY else sum(counts.values())
    return AnnotatorProgress(by[0], by[1], asked, **{word: counts[word] for word in BECAME}, cost=cost)


FIRST = "read by the first character of a longer reply"
NEVER: tuple[tuple[str, ...], tuple[str, str] | None] = ((), None)


@dataclass(frozen=True, slots=True)
class ModelTask:
    """The work of one model for one annotator, or by one method of models alone."""

    kind: Kind
    task: str
    model: str
    served: tuple[str, ...]
    days: tuple[str, str] | None
    counts: Mapping[str, int]
    settings: Mapping[str, Any] = field(default_factory=dict)


def model_uses(database: Database, study: str) -> tuple[ModelTask, ...]:
    """The models that annotated a study's conversations or answered its questions alone, by task and model."""
    served = _served(database, study)
    settings = _settings(database, study)
    return tuple(
        ModelTask(kind, task, model, *served.get((kind, task, model), NEVER), counts, settings.get(task, {}))
        for kind, task, model, counts in (*_annotated(database, study), *_alone(database, study))
    )


def asked_alone_of(database: Database, study: str) -> tuple[str, ...]:
    """The hashes of the versions whose questions models were asked alone, oldest first."""
    return tuple(dict.fromkeys(run.began["hash"] for run in runs(database, study) if run.began["what"] == ALONE))


def _annotated(database: Database, study: str) -> Iterable[tuple[Kind, str, str, Mapping[str, int]]]:
    for one in annotated_by(database, study):
        if one.model != NOBODY:
            yield "annotation", one.annotator, one.model, {word: getattr(one, word) for word in BECAME}


def _alone(database: Database, study: str) -> Iterable[tuple[Kind, str, str, Mapping[str, int]]]:
    parts: dict[tuple[str, str], list[Any]] = {}
    longer = longer_than_a_letter(database, study)
    for one in method_progress(database, study):
        parts.setdefault((one.name, one.model), []).append(one)
    for (name, model), some in parts.items():
        whole = sum_of(some)
        counts = {word: whole.outcomes.get(word, 0) for word in ("answered", "unparsed", "refused", "failed")}
        missing = whole.wanted - sum(counts.values())
        yield "alone", name, model, {**counts, "missing": missing, FIRST: longer.get((model, name), 0)}


def _served(database: Database, study: str) -> Mapping[Any, tuple[tuple[str, ...], tuple[str, str] | None]]:
    by = _cell.kind, _cell.name, _cell.model, _try.model, _try.version
    query = select(*by, func.min(_try.started_us), func.max(_try.started_us)).join(cells, _try.cell == _cell.cell)
    found: dict[Any, list[tuple[str, int, int]]] = {}
    with database.connect() as connection:
        for kind, name, label, model, version, first, last in connection.execute(
            query.where(_cell.study == study).group_by(*by).order_by(*by)
        ):
            served = f"{model} ({version})" if version and version != model else model
            found.setdefault((kind, name, label), []).append((served, first, last))
    return {
        key: (
            tuple(dict.fromkeys(served for served, _, _ in some)),
            (_day(min(first for _, first, _ in some)), _day(max(last for *_, last in some))),
        )
        for key, some in found.items()
    }


def _settings(database: Database, study: str) -> Mapping[str, Any]:
    """The record of the newest run that used each annotator or method."""
    return {task: given for run in runs(database, study) for task, given in run.began.get("settings", {}).items()}


def _day(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).date().isoformat()
