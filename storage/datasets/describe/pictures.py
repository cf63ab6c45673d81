"""The pictures that participants saw: each is a file named by its SHA-256, and `pictures.csv` says what each shows.
Beside them are those that participants sent, which the tidy table `messages` names.

The alternative texts are those of all texts in the frozen study: of its problems, its flow and its translations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from urllib.parse import unquote

from experiments.study.study import Study
from problems.pictures import MOST_PIXELS, Picture, embeds, key_of
from problems.text import texts_in
from storage.columns import Column, IntegerColumn, TextColumn, choice
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.datasets.writers import ENDINGS, FOLDER, csv_text, escaped, picture_path
from storage.schemas.base import ReleasedTable

TABLE = "pictures.csv"
STUDY = "the study file"
CONTENT = "the file's content"
SIDE = IntegerColumn(low=1, high=MOST_PIXELS)
COLUMNS = (
    Column("version", IntegerColumn(low=1), "The version of the study whose texts have the picture.", STUDY),
    Column(
        "name",
        TextColumn(),
        "What the study's texts call the picture; for a data URI `data-` and the SHA-256 of the URI.",
        STUDY,
    ),
    Column(
        "alt",
        TextColumn(blank=True),
        "The alternative text, which models and screen readers were given in place of the picture.",
        STUDY,
    ),
    Column("file", TextColumn(what=f"a file in {FOLDER}/"), "The picture's file in this export.", CONTENT),
    Column("type", choice(*ENDINGS), "The media type.", CONTENT),
    Column("width", SIDE, "The width in pixels, as the picture is shown.", CONTENT),
    Column("height", SIDE, "The height in pixels, as the picture is shown.", CONTENT),
    Column("sha256", TextColumn(pattern="[0-9a-f]{64}", what="64 hexadecimal digits"), "The checksum.", CONTENT),
)
RELEASED = ReleasedTable("pictures", TABLE, COLUMNS, ())


def table(manifest: ExportManifest) -> Mapping[str, bytes]:
    if not any(study.pictures.by_key for study in manifest.studies):
        return {}
    rows = []
    for version, key, alt, picture in _rows(manifest.studies):
        name, alt = (escaped(cell) if manifest.safe else cell for cell in (unquote(key), alt))
        size = (picture.width, picture.height)
        rows.append((version, name, alt, path_of(picture), picture.type, *size, picture.sha256))
    content = csv_text([column.name for column in COLUMNS], rows)
    return {TABLE: content.encode("utf-8-sig" if manifest.safe else "utf-8")}


def exported_table(manifest: ExportManifest) -> Iterator[ExportedFile]:
    for name, content in table(manifest).items():
        rows = sum(1 for _ in _rows(manifest.studies))
        yield ExportedFile(RELEASED, name, COLUMNS, rows, len(content), sha256(content).hexdigest(), {})


def _rows(studies: Sequence[Study]) -> Iterator[tuple[int, str, str, Picture]]:
    for study in studies:
        for key, alt in _shown(study):
            yield study.file.version, key, alt, study.pictures.by_key[key]


def _shown(study: Study) -> Iterator[tuple[str, str]]:
    """The pictures with their alternative texts, each pair once, in the order of the study's document."""
    texts = texts_in({name: part for name, part in json.loads(study.document).items() if name != "pictures"})
    pairs = dict.fromkeys((key_of(one.source), one.alt) for text in texts for one in embeds(text))
    return (pair for pair in pairs if pair[0] in study.pictures.by_key)


def path_of(picture: Picture) -> str:
    return picture_path(picture.sha256, picture.type)
