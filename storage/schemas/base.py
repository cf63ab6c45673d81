"""Schemas of released datasets: their tables, the types of their columns, and the rows that a session implies.

Rows are a pure function of a study and a session's folded state (or, for imported data, of its `recorded` events), so
the tables can be dropped and rebuilt from the log at any time. Some values are known only after their row was written
(a preference at the end of a set), so rows are upserted. Each table also has internal columns, which exports leave out:

    _study    the study's name          _session  the session's stream; empty for a row of the study itself
    _part     the part of the release   _seq      the event that completed the row; for imported rows, their order
    _written  JSON of the cells that an imported file spells differently from Parley
    _origin   the session's origin: person, pilot, bot or import; empty for a row of the study itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Float, Index, Integer, PrimaryKeyConstraint, String, Table, Text, text
from sqlalchemy import Column as SqlColumn
from sqlalchemy.types import TypeEngine

from experiments.study.location import State
from experiments.study.study import Study
from storage.columns import Column, Kind
from storage.tables import metadata

SQL: Mapping[Kind, type[TypeEngine[Any]]] = {"text": Text, "integer": BigInteger, "number": Float, "json": Text}
# In the meaning of a column with replies: the releases have no column for it.
UNMARKED = "A reply that was cut off is not marked; the column `ending` of the tidy table `messages` has that."


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """A row of a released table: `values` by the columns' names in the database, `seq` of its last event."""

    table: str
    seq: int
    values: Mapping[str, Any]
    part: str = ""
    written: str | None = None


@dataclass(frozen=True, slots=True)
class AiAloneTally:
    """`count` are all that count, `right` the right ones, `invalid` those in which no answer can be read."""

    model: str
    dataset: str
    problem: str
    method: str
    count: int
    right: int
    invalid: int


# A check across the cells of a row (by their names in the database). It yields the released name of each column that
# fails, with a description of the allowed value.
Rule = Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """`parts` are the folders of one release that each hold such a file. A row of an imported file belongs to the
    person in column `person` (without such a column, to the study itself). `identity` distinguishes that person's rows,
    and `key` the rows of one event. `time` gives the time of recording in microseconds UTC. Column `counter` counts the
    rows of the file, from 0, on export for a study's own. A study's own file that `filters` another table is made from
    that table's rows; one `of_alone` from answers that models gave without a participant. `same_for` maps a column,
    such as the rater's, to columns that are equal in all rows with its value. `rules_across` make a rule that remembers
    the rows of one file. `annotated` maps an annotator to the columns that it fills, unless one is filled already."""

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
    rules_across: tuple[Callable[[], Rule], ...] = ()
    same_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    annotated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def path(self, part: str) -> str:
        return f"{part}/{self.file}" if part else self.file

    def filled(self, values: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """A row's values, completed with the results of annotators (by name). Existing values are never replaced."""
        full = dict(values)
        if not found:
            return full
        forms = {column.sql: column.form for column in self.columns}
        for annotator, names in self.annotated.items():
            annotation = found.get(annotator)
            if annotation is not None and all(values.get(name) is None for name in names):
                full |= {
                    name: None if annotation[name] is None else forms[name].take(annotation[name]) for name in names
                }
        return full

    def in_part(self, part: str) -> bool:
        """True if this part of the release has such a file, as those that belong to the whole release do."""
        return not part or part in self.parts or self.parts == ("",)

    @property
    def ours(self) -> tuple[Column, ...]:
        """The columns of a study's own file."""
        return tuple(column for column in self.columns if not column.theirs)

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.ours)

    def table(self) -> Table:
        """The database table; created on the first call."""
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
            Index(f"ix_{self.name}_order", "_study", "_part", "_seq", sqlite_where=people),
            Index(f"ix_{self.name}_written", "_study", "_part", sqlite_where=spelled),
        )
        return Table(self.name, metadata, *own, *released, *read_by)


@dataclass(frozen=True, slots=True)
class Schema:
    """A release whose functions make the rows of a session, of the study, and of answers of models alone."""

    name: str
    title: str
    source: str
    tables: tuple[ReleasedTable, ...]
    rows: Callable[[Study, State], Sequence[ReleasedRow]]
    study_rows: Callable[[Study], Sequence[ReleasedRow]] = field(default=lambda study: ())
    alone_rows: Callable[[Sequence[AiAloneTally]], Sequence[ReleasedRow]] = field(default=lambda tallies: ())
    url: str = ""
    licence: str = ""
    """The licence of the release as an SPDX identifier; empty if its authors state none for the data."""
    sha256: frozenset[str] = frozenset()
    """The SHA-256 checksums of the release's own files, as far as they are known. By them an imported file is known to
    be the released one."""
    tasks: tuple[str, ...] = ()
    """Task categories of Hugging Face's Hub."""
    tags: tuple[str, ...] = ()
    participant: Callable[[str], str] | None = None
    """The id of a person in its files, from the seed of the session; None if they name nobody."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the release, each a folder; empty if it is not divided."""
        return tuple(dict.fromkeys(part for table in self.tables for part in table.parts if part))
