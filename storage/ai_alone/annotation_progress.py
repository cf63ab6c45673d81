"""How far annotating a study is: by annotator and model, from the cells, their replies and the facts alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import and_, case, func, select

from experiments.session.annotations import ANNOTATED
from storage import tables
from storage.db.engine import Database
from storage.tables import cells

NOBODY = ""
"""In place of a model, where something was known without asking one."""
_cell, _try, _fact, _session = cells.c, tables.attempts.c, tables.events.c, tables.sessions.c


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """What was asked of a model for an annotator, and what became of it; `unparsed` are replies that say nothing."""

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
    """What became of a cell about which nothing was found."""
    return "unparsed" if replied else "refused" if refused else "failed" if failed else "missing"


def _standing(by: tuple[str, str], counts: Counter[str], cost: float | None) -> AnnotatorProgress:
    became = {word: counts[word] for word in ("annotated", "unparsed", "refused", "failed", "missing")}
    asked = 0 if by[1] == NOBODY else sum(counts.values())
    return AnnotatorProgress(by[0], by[1], asked, **became, cost=cost)
