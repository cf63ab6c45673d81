"""Released tables as data frames, for the functions of this package and for notebooks.

    from app.analysis import frame
    answers = frame(open_database("sqlite:///parley.db"), "chatbench", "user_answers", "person")

The columns are the released ones, by their released names; `_session` tells sessions apart. Whole numbers are pandas'
Int64, which can be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments.errors import allowed
from storage.engine import Database
from storage.errors import StorageError
from storage.reading import rows
from storage.schemas.registry import released, schemas

DTYPES = {"integer": "Int64", "number": "float64", "text": "object", "json": "object"}
SESSION = "_session"


def frame(
    database: Database,
    study: str,
    table: str,
    origin: str,
    *,
    excluded: bool = False,
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The rows of a study in a released table, or some of their columns; of excluded sessions only if asked for.

    `origin` is person, pilot, bot or import. Raises StorageError where there is no such table.
    """
    known = [item.name for schema in schemas().values() for item in schema.tables]
    if table not in known:
        raise StorageError(f"no released table is called {table!r}{allowed(table, known)}")
    meant = released(table)
    kinds = {column.name: column.kind for column in meant.columns}
    names = list(kinds) if columns is None else list(columns)
    found = rows(database, study, meant, origin, names, excluded=excluded)
    data = pd.DataFrame(found, columns=[*names, SESSION], dtype="object")
    return data.astype({name: DTYPES[kinds[name]] for name in names})
