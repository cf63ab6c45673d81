"""The gate before a deposit: what in an export may reveal who took part, and who decided about it.

A finding is resolved if somebody has looked at each of its columns and said so (a Review), or if the column is no
longer in the export. Nothing is changed here: columns are left out or rounded by a new export.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.errors import suggestion
from storage.datasets.deposits.anonymity import THRESHOLD, SmallCells, k_anonymity, small_cells
from storage.datasets.deposits.export_folder import ExportFolder, FolderFile
from storage.datasets.describe.markdown import count
from storage.datasets.exports.screening import personal_data_in
from storage.datasets.tidy.columns import NAME as TIDY
from storage.errors import StorageError
from storage.registers.origins import SIMULATED

Kind = Literal["personal data", "free text", "small cells", "demographics"]
NONE = "none"
"""What says that no column describes the participants."""


@dataclass(frozen=True, slots=True)
class Review:
    """Somebody has looked at a column of these data, and decided that it can be published. `at` is ISO 8601 in UTC."""

    column: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class GateFinding:
    """Something that may reveal who took part, in columns of some files; `reviews` are those of its columns."""

    kind: Kind
    columns: tuple[str, ...]
    files: tuple[str, ...]
    detail: str
    reviews: tuple[Review, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def resolved(self) -> bool:
        """Whether somebody has decided about each column."""
        return bool(self.columns) and {*self.columns} == {review.column for review in self.reviews}


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate found. `k` is the k-anonymity of `people` by the demographic columns, None without such columns;
    `simulated` says that no person took part, so that nothing can reveal one."""

    demographics: tuple[str, ...]
    people: int
    k: int | None
    threshold: int
    findings: tuple[GateFinding, ...]
    simulated: bool = False

    @property
    def open(self) -> tuple[GateFinding, ...]:
        """The findings about which nobody has decided."""
        return tuple(finding for finding in self.findings if not finding.resolved)


def examine(
    export: ExportFolder,
    reviews: Sequence[Review] = (),
    demographics: Sequence[str] | None = None,
    threshold: int = THRESHOLD,
) -> GateReport:
    """Examine an export. `demographics` are the columns that describe participants, besides those that the schema
    marks; `(NONE,)` says that there are none, and None that nobody has said. Raises StorageError for a column that is
    not there."""
    names = {column.name for file in export.files for column in file.columns}
    named = tuple(one for one in demographics or () if one != NONE)
    for one in (*named, *(review.column for review in reviews)):
        if one not in names:
            raise StorageError(f"{export.path}: no file of this export has a column {one!r}{suggestion(one, names)}")
    if {*export.origins} and {*export.origins} <= {*SIMULATED}:
        return GateReport((), 0, None, threshold, (), simulated=True)
    marked = (column.name for file in export.files for column in file.columns if column.demographic)
    columns = tuple(dict.fromkeys((*marked, *named)))
    people = _people(export.files, columns)
    cells = small_cells(columns, people, threshold) if columns else []
    found = [*_texts(export.files), *(_small(one, export.files, threshold) for one in cells)]
    if demographics is None and export.schema == TIDY:
        found.append(_unknown_demographics(export.files))
    by_column = {review.column: review for review in reviews}
    return GateReport(
        columns,
        len(people),
        k_anonymity(people) if columns else None,
        threshold,
        tuple(_with_reviews(finding, by_column) for finding in found),
    )


def _with_reviews(finding: GateFinding, reviews: Mapping[str, Review]) -> GateFinding:
    known = tuple(reviews[column] for column in finding.columns if column in reviews)
    return GateFinding(finding.kind, finding.columns, finding.files, finding.detail, known, finding.examples)


def _texts(files: Sequence[FolderFile]) -> list[GateFinding]:
    """A finding for each column of free text, and another if there are personal data in it."""
    texts: dict[str, list[str]] = {}
    personal: dict[str, Counter[str]] = {}
    where: dict[str, list[str]] = {}
    for file in files:
        free = [(number, column.name) for number, column in enumerate(file.columns) if column.free_text]
        filled: Counter[str] = Counter()
        found = {name: Counter[str]() for _, name in free}
        for row in file.rows() if free else ():
            for number, name in free:
                filled[name] += row[number] not in (None, "")
                found[name] += personal_data_in(row[number])
        for _, name in free:
            if filled[name]:
                texts.setdefault(name, []).append(file.path)
            if found[name]:
                personal.setdefault(name, Counter()).update(found[name])
                where.setdefault(name, []).append(file.path)
    return [
        *(
            GateFinding("personal data", (name,), tuple(where[name]), _counts(kinds))
            for name, kinds in personal.items()
        ),
        *(
            GateFinding("free text", (name,), tuple(paths), "written by people or models")
            for name, paths in texts.items()
        ),
    ]


def _counts(kinds: Counter[str]) -> str:
    return ", ".join(f"{number:,} × {kind}" for kind, number in sorted(kinds.items()))


def _small(cells: SmallCells, files: Sequence[FolderFile], k: int) -> GateFinding:
    holds = tuple(file.path for file in files if {*cells.columns} & {column.name for column in file.columns})
    one = "combination" if len(cells.columns) > 1 else "value"
    detail = f"{count(cells.cells, one)} shared by fewer than {k}: {count(cells.people, 'person', 'people')}"
    return GateFinding("small cells", cells.columns, holds, detail, examples=cells.examples)


def _unknown_demographics(files: Sequence[FolderFile]) -> GateFinding:
    """The question which columns describe people, with those that could: closed ones and numbers, one row a session."""
    wide = [file for file in files if "answersWide" in file.path]
    could = [one.name for file in wide for one in file.columns if one.closed or one.type in ("integer", "number")]
    detail = f"not known which columns describe people; could be: {', '.join(could) or 'none'}"
    return GateFinding("demographics", (), tuple(file.path for file in wide), detail)


def _people(files: Sequence[FolderFile], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The demographic values of each person, as the first row that has one states it. Rows of files that name nobody
    are left out."""
    known: dict[str, dict[str, str]] = {}
    for file in files:
        places = {column.name: number for number, column in enumerate(file.columns)}
        there = [name for name in columns if name in places]
        if not there or file.person not in places:
            continue
        for row in file.rows():
            values = known.setdefault(str(row[places[file.person]]), {})
            for name in there:
                _note(values, name, row[places[name]])
    return [tuple(values.get(name, "") for name in columns) for values in known.values()]


def _note(values: dict[str, str], name: str, cell: Any) -> None:
    if not values.get(name):
        values[name] = "" if cell is None else str(cell)


def columns_of(findings: Collection[GateFinding]) -> tuple[str, ...]:
    """The columns of some findings, each once."""
    return tuple(dict.fromkeys(column for finding in findings for column in finding.columns))
