"""The cells that a study's plans ask for, as scoring reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from sqlalchemy import case, select
from sqlalchemy.dialects import postgresql, sqlite

from storage.db.engine import Database, writer
from storage.tables import cells

Kind = Literal["alone", "annotation"]
AT_ONCE = 500
_own = cells.c
KEY = ("study", "cell")


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A row of `ai_cell`: what a cell is about; `name` is its method or annotator."""

    cell: str
    kind: Kind
    name: str
    model: str
    position: int
    samples: int
    dataset: str | None = None
    problem: str | None = None
    stream: str | None = None
    path: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


FIELDS = tuple(StoredCell.__slots__)


def save_cells(database: Database, study: str, found: Iterable[StoredCell]) -> None:
    """Write a study's cells; one that is there is described anew, and keeps the most samples that were ever wanted."""
    rest = iter(found)
    with writer(database) as connection, connection.begin():
        while some := list(islice(rest, AT_ONCE)):
            rows = [{"study": study} | {name: getattr(one, name) for name in FIELDS} for one in some]
            connection.execute(_KEEP[connection.dialect.name], [row | {"data": dict(row["data"])} for row in rows])


def cells_of(database: Database, study: str, kind: Kind | None = None) -> Iterator[StoredCell]:
    wanted = select(*(_own[name] for name in FIELDS)).where(_own.study == study)
    if kind is not None:
        wanted = wanted.where(_own.kind == kind)
    with database.connect() as connection:
        ordered = wanted.order_by(_own.kind, _own.position, _own.cell).execution_options(yield_per=AT_ONCE)
        for row in connection.execute(ordered).mappings():
            yield StoredCell(**row)


def _keeping(insert_into: Any) -> Any:
    new = insert_into(cells)
    others = {column.name: new.excluded[column.name] for column in _own if column.name not in KEY}
    most = case((new.excluded.samples > _own.samples, new.excluded.samples), else_=_own.samples)
    return new.on_conflict_do_update(index_elements=KEY, set_=others | {"samples": most})


_KEEP = {"sqlite": _keeping(sqlite.insert), "postgresql": _keeping(postgresql.insert)}
