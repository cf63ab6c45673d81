"""What a schema is: released tables, what may stand in their columns, and the rows of them that a session implies.

Rows are a pure function of a study and a session's folded state (or, for imported data, of its `recorded` facts), so
the tables can be dropped and rebuilt from the log at any time. A row may hold what is known only later (a preference
at the end of a set), so rows are upserted. Beside the released columns stand some of our own, which exports leave out:

    _study    the study's name          _session  the session's stream; empty for a row of the study itself
    _part     the part of the release   _seq      the fact that completed the row; for imported rows, their order
    _written  JSON of the cells that an imported file spells in another way than we do
    _origin   whose session it is: person, pilot, bot or import; empty where a row belongs to the study itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Float, Index, Integer, PrimaryKeyConstraint, String, Table, Text, text
from sqlalchemy import Column as SqlColumn
from sqlalchemy.types import TypeEngine

from experiments.session.state import State
from experiments.study.resolve import Study
from storage.column_types import ColumnType, Kind
from storage.tables import metadata

SQL: Mapping[Kind, type[TypeEngine[Any]]] = {"text": Text, "integer": BigInteger, "number": Float, "json": Text}
OWN = ("_study", "_session", "_part", "_seq", "_written", "_origin")
NOTHING: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A released column: what may stand in it, what it means, and where its values come from.

    `asked` are the names of the questions whose wording explains it, `stored` is its name in the database where that
    cannot bear the released one, and a published file may lack it if it is `optional`. Some published files have
    columns of `theirs` that ours never do.
    """

    name: str
    form: ColumnType
    meaning: str
    source: str
    asked: tuple[str, ...] = ()
    stored: str = ""
    optional: bool = False
    theirs: bool = False

    @property
    def kind(self) -> Kind:
        """The type of its values."""
        return self.form.kind

    @property
    def sql(self) -> str:
        """Its name in the database."""
        return self.stored or self.name


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """A row of a released table: `values` by the columns' names in the database, `seq` of its last fact."""

    table: str
    seq: int
    values: Mapping[str, Any]
    part: str = ""
    written: str | None = None


@dataclass(frozen=True, slots=True)
class AiAloneTally:
    """What the answers of a model that was asked a problem alone add up to, by one method: how many count, how many of
    them are right, how many are no answer that can be read, and how many commit to one of those offered."""

    model: str
    dataset: str
    problem: str
    method: str
    count: int
    right: int
    invalid: int
    valid: int


Rule = Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]
"""What must hold between the cells of a row (by their names in the database): the released names of the columns for
which it does not, each with what was allowed."""


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A released table and the file it is published as.

    `parts` are the folders of one release that each hold such a file. A row of an imported file belongs to the person
    in column `person` (to the study itself where there is none), and `identity` tells that person's rows apart; `time`
    says when it was recorded, in microseconds UTC, where the row knows. `key` tells rows of one fact apart. Column
    `counter` counts the rows of the file, from 0; a study's own rows get it when they are exported. A study's
    own file that `filters` another table is made of that one's rows; one `of_alone` of what models answered alone.
    `annotated` are the columns that an annotator fills, by its name, unless one of them is filled already.
    """

    name: str
    file: str
    columns: tuple[Column, ...]
    identity: tuple[str, ...]
    person: str = ""
    parts: tuple[str, ...] = ("",)
    key: tuple[str, ...] = ()
    of_study: bool = False
    of_alone: bool = False
    counter: str = ""
    filters: str = ""
    time: Callable[[Mapping[str, Any]], int | None] = field(default=lambda values: None)
    rules: tuple[Rule, ...] = ()
    annotated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def path(self, part: str) -> str:
        """The file's path within a release."""
        return f"{part}/{self.file}" if part else self.file

    def filled(self, values: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """A row's values with what annotators found, by their names; what the row has already is never replaced."""
        full = dict(values)
        if not found:
            return full
        forms = {column.sql: column.form for column in self.columns}
        for annotator, names in self.annotated.items():
            told = found.get(annotator)
            if told is not None and all(values.get(name) is None for name in names):
                full |= {name: None if told[name] is None else forms[name].take(told[name]) for name in names}
        return full

    @property
    def ours(self) -> tuple[Column, ...]:
        """The columns of a study's own file."""
        return tuple(column for column in self.columns if not column.theirs)

    @property
    def header(self) -> tuple[str, ...]:
        """The released names of its columns, in order."""
        return tuple(column.name for column in self.ours)

    def table(self) -> Table:
        """The table in the database, made once."""
        if self.name in metadata.tables:
            return metadata.tables[self.name]
        own: list[Any] = [
            SqlColumn("_study", String(60)),
            SqlColumn("_session", String(36)),
            SqlColumn("_part", String(60)),
            SqlColumn("_seq", Integer, autoincrement=False),
            SqlColumn("_written", Text),
            SqlColumn("_origin", String(16), nullable=False),
        ]
        released = [
            SqlColumn(
                c.sql,
                String(255) if c.sql in self.key and c.kind == "text" else SQL[c.kind],
                autoincrement=False,
            )
            for c in self.columns
        ]
        keys = [c.sql for c in self.columns if c.sql in self.key]
        people, spelled = text("_session != ''"), text("_written IS NOT NULL")
        read_by = (  # own sessions are exported by the key, imported rows by the first index; neither needs a sort
            PrimaryKeyConstraint("_session", "_study", "_part", "_seq", *keys),
            Index(f"ix_{self.name}_order", "_study", "_part", "_seq", sqlite_where=people, postgresql_where=people),
            Index(f"ix_{self.name}_written", "_study", "_part", sqlite_where=spelled, postgresql_where=spelled),
        )
        return Table(self.name, metadata, *own, *released, *read_by)


@dataclass(frozen=True, slots=True)
class Schema:
    """A released dataset: its tables, the rows a session has in them, those the study itself has, and those that
    follow from what models answered alone."""

    name: str
    title: str
    source: str
    tables: tuple[ReleasedTable, ...]
    rows: Callable[[Study, State], Sequence[ReleasedRow]]
    study_rows: Callable[[Study], Sequence[ReleasedRow]] = field(default=lambda study: ())
    alone_rows: Callable[[Sequence[AiAloneTally]], Sequence[ReleasedRow]] = field(default=lambda tallies: ())
    url: str = ""
    licence: str = ""
