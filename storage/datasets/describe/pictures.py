"""The pictures that participants saw: each is a file named by its SHA-256, and `pictures.csv` says what each shows.

The alternative texts are those of all texts in the frozen study: of its problems, its flow and its translations.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from urllib.parse import unquote

from experiments.study.study import Study
from problems.pictures import Picture, embeds, key_of
from problems.text import texts_in
from storage.datasets.describe.csv_injection import escaped
from storage.datasets.manifest import ExportManifest

FOLDER, TABLE = "pictures", "pictures.csv"
HEADER = ("version", "name", "alt", "file", "type", "width", "height", "sha256")
"""The study's version, the name in its texts (for a data URI `data-` and the SHA-256 of the URI), the alternative text,
the file in the export, its media type, width and height in pixels, and its checksum."""
ENDINGS: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def paths(studies: Sequence[Study]) -> Mapping[str, str]:
    """The files of all pictures of these studies: paths in the export, each with its SHA-256."""
    found = (picture for study in studies for picture in study.pictures.by_key.values())
    return {_path(picture): picture.sha256 for picture in found}


def table_names(studies: Sequence[Study]) -> tuple[str, ...]:
    """The name of the table; none if the studies have no pictures."""
    return (TABLE,) if paths(studies) else ()


def table(exported: ExportManifest) -> Mapping[str, bytes]:
    """The table by its name: a row for each picture of a version and each of its alternative texts."""
    if not paths(exported.studies):
        return {}
    out = StringIO("\ufeff" if exported.safe else "", newline="")
    out.seek(0, 2)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for study in exported.studies:
        for key, alt in _shown(study):
            picture = study.pictures.by_key[key]
            name, alt = (escaped(cell) if exported.safe else cell for cell in (unquote(key), alt))
            size = (picture.width, picture.height)
            writer.writerow((study.file.version, name, alt, _path(picture), picture.type, *size, picture.sha256))
    return {TABLE: out.getvalue().encode()}


def _shown(study: Study) -> Iterator[tuple[str, str]]:
    """The pictures with their alternative texts, each pair once, in the order of the study's document."""
    texts = texts_in({name: part for name, part in json.loads(study.document).items() if name != "pictures"})
    pairs = dict.fromkeys((key_of(one.source), one.alt) for text in texts for one in embeds(text))
    return (pair for pair in pairs if pair[0] in study.pictures.by_key)


def _path(picture: Picture) -> str:
    return f"{FOLDER}/{picture.sha256}.{ENDINGS[picture.type]}"
