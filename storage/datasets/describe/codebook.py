"""The codebook: every column of every file, with its meaning, its allowed values and the question behind it.

Wordings are found in the frozen studies by the names of the questions, and are as in the study file: `{{names}}` are
not replaced, because their values differ between participants. `wording_known` is false where the data come without a
study file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import orjson

from experiments.study.fields import Field
from experiments.study.step import Step
from experiments.study.study import Study
from storage.columns import Kind
from storage.datasets.describe.markdown import bullets, code, join, rendered
from storage.datasets.describe.pictures import exported_table
from storage.datasets.describe.publication import HASH_CHARS
from storage.datasets.manifest import ExportedFile, ExportManifest


@dataclass(frozen=True, slots=True)
class WordingKey:
    """A step that asks a question: its path in a version of the study, without the iterations of loops."""

    version: int
    hash: str
    step: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A question as participants saw it, from the top of the screen down to its `options`, pairs of stored value and
    displayed text. With `own_options`, the options are those of the problem."""

    heading: str
    instructions: str
    table: str
    question: str
    help: str
    required: bool
    options: tuple[tuple[str, str], ...]
    own_options: bool
    places: tuple[WordingKey, ...] = field(default=(), compare=False)

    @property
    def seen(self) -> str:
        """The texts on the screen, from the top down; stored values are formatted as code."""
        options = bullets(shown if stored == shown else f"{code(stored)}: {shown}" for stored, shown in self.options)
        heading, matrix = (f"**{text}**" if text else "" for text in (self.heading, self.table))
        own = "(the problem's own options)" if self.own_options else ""
        return join(heading, self.instructions, matrix, self.question, self.help, options, own).strip("\n")

    @property
    def where(self) -> str:
        return "; ".join(
            ", ".join(code(place.step) for place in self.places if place.hash == hash_)
            + f" of version {version} (hash {code(hash_[:HASH_CHARS])})"
            for version, hash_ in dict.fromkeys((place.version, place.hash) for place in self.places)
        )


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column. `values` maps each allowed value to its meaning; it is empty where there is no closed list."""

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
    free_text: bool = False
    demographic: bool = False

    @property
    def labelled(self) -> list[tuple[str, str]]:
        return [(value, label) for value, label in self.values.items() if label]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file with its columns, in order. `person` is the column that says whose row it is, if there is one."""

    path: str
    rows: int
    columns: tuple[ColumnEntry, ...]
    person: str = ""


@dataclass(frozen=True, slots=True)
class Codebook:
    study: str
    schema: str
    origin: str
    files: tuple[FileEntry, ...]


def codebook(manifest: ExportManifest) -> Codebook:
    found = wordings(manifest.studies)
    files = (*manifest.files, *(exported_table(manifest) if manifest.pictures else ()))
    sheets = tuple(FileEntry(f.path, f.rows, _entries(manifest, f, found), f.table.person) for f in files)
    return Codebook(manifest.study, manifest.schema.name, manifest.origin, sheets)


def as_json(codebook: Codebook) -> bytes:
    return orjson.dumps(asdict(codebook), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def codebook_page(codebook: Codebook) -> str:
    known = all(entry.wording_known for sheet in codebook.files for entry in sheet.columns)
    return rendered("codebook", book=codebook, known=known)


def _entries(
    manifest: ExportManifest, file: ExportedFile, wordings: Mapping[str, tuple[Wording, ...]]
) -> tuple[ColumnEntry, ...]:
    given = file.table.annotated.items()
    models = {column: _annotators(manifest, task) for task, columns in given for column in columns}
    return tuple(
        ColumnEntry(
            name=column.name,
            type=column.kind,
            meaning=column.meaning,
            source=f"{column.source}: {models[column.name]}" if models.get(column.name) else column.source,
            may_be_blank=column.form.blank,
            allowed=column.form.allowed,
            values=dict(column.form.labels),
            asked=column.asked,
            wording_known=bool(manifest.studies),
            wordings=tuple(wording for name in column.asked for wording in wordings.get(name, ())),
            free_text=column.free_text,
            demographic=column.demographic,
        )
        for column in file.columns
    )


def _annotators(manifest: ExportManifest, task: str) -> str:
    models = [f"{use.model} (asked as {', '.join(use.served)})" for use in manifest.uses if use.task == task]
    return ", ".join(models) + ("; where several annotated a conversation, the newest counts" if models[1:] else "")


def wordings(studies: Sequence[Study]) -> Mapping[str, tuple[Wording, ...]]:
    """Every wording by the question's name, in the order of studies and steps; a shared one once, with all places."""
    found: dict[str, dict[Wording, dict[WordingKey, None]]] = {}
    for study in studies:
        for path, step in study.steps:
            for asked in step.questions_asked():
                places = found.setdefault(asked.name, {}).setdefault(_wording(step, asked), {})
                places[WordingKey(study.file.version, study.hash, path.replace("[*]", ""))] = None
    return {
        name: tuple(replace(wording, places=tuple(places)) for wording, places in own.items())
        for name, own in found.items()
    }


def _wording(step: Step, field: Field) -> Wording:
    return Wording(
        heading=step.title,
        instructions=step.instructions(),
        table=getattr(field, "matrix", ""),
        question=field.text,
        help=field.help,
        required=field.required,
        options=tuple(getattr(field, "options", {}).items()),
        own_options=type(field) is Field,
    )
