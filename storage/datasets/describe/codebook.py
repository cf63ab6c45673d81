"""The codebook: every column of every file, with its meaning, its allowed values and the question behind it.

`codebook` builds it as a value, `codebook_page` writes that as Markdown and `as_json` as JSON. `wording_known` is false
where the data come without a study file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import orjson

from storage.column_types import Kind
from storage.datasets.describe.markdown import bullets, code, count, join, quote, table
from storage.datasets.describe.model_work import sources
from storage.datasets.describe.pictures import exported_table
from storage.datasets.describe.question_wording import Wording, WordingKey, wordings
from storage.datasets.describe.study_documents import HASH_CHARS
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.datasets.variable_names import LIMITS, variable_names
from storage.schemas.base import Column

Asked = Mapping[str, tuple[Wording, ...]]


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column. `values` maps each allowed value to its meaning; it is empty where there is no closed list. `names` are
    its names in copies for SPSS (`sav`) and Stata (`dta`) where they differ."""

    name: str
    type: Kind
    meaning: str
    source: str
    may_be_blank: bool
    allowed: str
    values: Mapping[str, str]
    asked: tuple[str, ...]
    wording_known: bool
    wordings: tuple[Wording, ...]
    names: Mapping[str, str]
    free_text: bool = False
    demographic: bool = False


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file with its columns, in order. `person` is the column that says whose row it is, if there is one."""

    path: str
    rows: int
    columns: tuple[ColumnEntry, ...]
    person: str = ""


@dataclass(frozen=True, slots=True)
class Codebook:
    """The codebook of an export."""

    study: str
    schema: str
    origin: str
    files: tuple[FileEntry, ...]


def codebook(exported: ExportManifest) -> Codebook:
    """Build the codebook of an export."""
    asked = wordings(exported.studies)
    sheets = tuple(
        _sheet(file, asked, _annotators(exported, file), known=bool(exported.studies))
        for file in (*exported.files, *exported_table(exported))
    )
    return Codebook(exported.study, exported.schema.name, exported.origin, sheets)


def as_json(book: Codebook) -> bytes:
    """The codebook as JSON."""
    return orjson.dumps(asdict(book), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _annotators(exported: ExportManifest, file: ExportedFile) -> Mapping[str, str]:
    """For the columns of annotations, the models that gave them."""
    given = file.table.annotated.items()
    return {column: found for task, columns in given if (found := sources(exported, task)) for column in columns}


def _sheet(file: ExportedFile, asked: Asked, annotators: Mapping[str, str], *, known: bool) -> FileEntry:
    given = {copy.format: variable_names(file.columns, copy.format) for copy in file.copies if copy.format in LIMITS}
    names = {c.name: {suffix: n[c.name] for suffix, n in given.items() if n[c.name] != c.name} for c in file.columns}
    entries = (
        _entry(column, asked, names[column.name], annotators.get(column.name, ""), known=known)
        for column in file.columns
    )
    return FileEntry(file.path, file.rows, tuple(entries), file.table.person)


def _entry(column: Column, asked: Asked, names: Mapping[str, str], annotator: str, *, known: bool) -> ColumnEntry:
    return ColumnEntry(
        name=column.name,
        type=column.kind,
        meaning=column.meaning,
        source=f"{column.source}: {annotator}" if annotator else column.source,
        may_be_blank=column.form.blank,
        allowed=column.form.allowed,
        values=dict(column.form.labels),
        asked=column.asked,
        wording_known=known,
        wordings=tuple(wording for name in column.asked for wording in asked.get(name, ())),
        names=names,
        free_text=column.free_text,
        demographic=column.demographic,
    )


NOT_KNOWN = "The wording that participants saw is not known: these data include no study file."
NOT_ASKED = "No version of the study has a question for this column."
FILLED = (
    "Wordings are quoted from the study file. Their `{{names}}` were replaced for each participant: `{{problem.text}}` "
    "by the problem on the screen, `{{number}}` by the number of the turn, `{{count}}` by the number of turns."
)
BLANK = "A blank cell of a csv and a `null` in JSON mean that the value is unknown."


def codebook_page(book: Codebook) -> str:
    """The codebook as Markdown."""
    known = all(entry.wording_known for sheet in book.files for entry in sheet.columns)
    contents = bullets(f"{code(sheet.path)}: {count(len(sheet.columns), 'column')}" for sheet in book.files)
    about = f"Every column of every file of the study {code(book.study)}, in the schema {code(book.schema)}. {BLANK}"
    sheets = (_file_section(sheet) for sheet in book.files)
    return join("# Codebook", about, FILLED if known else NOT_KNOWN, contents, *sheets)


def _file_section(sheet: FileEntry) -> str:
    return join(
        f"## {code(sheet.path)}",
        f"{count(sheet.rows, 'row')}.",
        *(_names(sheet, suffix, program) for suffix, program in PROGRAMS.items()),
        *map(_column_row, sheet.columns),
    )


PROGRAMS: Mapping[str, str] = {"sav": "SPSS", "dta": "Stata"}


def _names(sheet: FileEntry, suffix: str, program: str) -> str:
    """The columns that have another name in the copy for a program."""
    rows = [(code(entry.names[suffix]), code(entry.name)) for entry in sheet.columns if suffix in entry.names]
    said = f"{program} does not allow some of the names. In the copy for {program} these are other ones:"
    return join(said, table((f"name in {program}", "column"), rows)) if rows else ""


def _column_row(entry: ColumnEntry) -> str:
    facts = bullets(
        [
            f"Type: {entry.type}",
            f"Source: {entry.source}",
            f"May be blank: {'yes' if entry.may_be_blank else 'no'}",
            f"Allowed values: {entry.allowed}",
        ]
    )
    labelled = [(code(value), label) for value, label in entry.values.items() if label]
    values = table(("value", "meaning"), labelled) if labelled else ""
    name = code(entry.name) if entry.name else "(a column without a name)"
    return join(f"### {name}", entry.meaning, facts, values, _question_text(entry))


def _question_text(entry: ColumnEntry) -> str:
    if not entry.asked:
        return ""
    if not entry.wording_known:
        return NOT_KNOWN
    return join(*map(_wording, entry.wordings)) if entry.wordings else NOT_ASKED


def _wording(wording: Wording) -> str:
    """The texts on the screen, from the top down, as a block quote; stored values are formatted as code."""
    options = bullets(shown if stored == shown else f"{code(stored)}: {shown}" for stored, shown in wording.options)
    heading = f"**{wording.heading}**" if wording.heading else ""
    matrix = f"**{wording.table}**" if wording.table else ""
    own = "(the problem's own options)" if wording.own_options else ""
    seen = join(heading, wording.instructions, matrix, wording.question, wording.help, options, own)
    could = "" if wording.required else "; an answer was optional"
    return join(f"What participants saw in {_places(wording.places)}{could}:", quote(seen.strip("\n")))


def _places(places: Sequence[WordingKey]) -> str:
    versions = dict.fromkeys((place.version, place.hash) for place in places)
    return "; ".join(
        ", ".join(code(place.step) for place in places if place.hash == hash_)
        + f" of version {version} (hash {code(hash_[:HASH_CHARS])})"
        for version, hash_ in versions
    )
