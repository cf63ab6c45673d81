"""Files that describe an export: dataset card, citation, codebook, Croissant metadata, study documents and checksums.

They depend on the exported data alone, so exporting identical data gives identical files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import orjson

from storage.datasets.describe.codebook import as_json, codebook, codebook_page
from storage.datasets.describe.croissant import metadata
from storage.datasets.describe.dataset_card import dataset_card
from storage.datasets.describe.export_folder import BOOK, EDITABLE, MARKED, METADATA, PAGE, README, write_editable
from storage.datasets.describe.metadata_files import citation_files, tidy_documents
from storage.datasets.describe.pictures import paths as picture_paths
from storage.datasets.describe.pictures import table as pictures_table
from storage.datasets.describe.publication import file_name
from storage.datasets.manifest import ExportManifest
from storage.datasets.writers import csv_text
from storage.db.checksums import NAME, is_ours, recorded, sums
from storage.db.private_files import writing


def describe(manifest: ExportManifest) -> tuple[Path, ...]:
    """Write the describing files into the folder of an export; returns the paths of those that were written."""
    contents = _contents(manifest)
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes |= {copy.path: copy.sha256 for file in manifest.files for copy in file.copies}
    hashes |= picture_paths(manifest.studies) if manifest.pictures else {}
    hashes |= {name: sha256(content).hexdigest() for name, content in contents.items()}
    editable = write_editable(manifest.folder, _editable(manifest))
    _remove_older(manifest.folder, hashes)
    return (*editable, *_write(manifest.folder, {**contents, NAME: sums(hashes).encode()}))


def _remove_older(folder: Path, now: Collection[str]) -> None:
    """Remove files of an earlier export that this one has not written, unless they were changed since."""
    known = recorded(folder)
    for name in known:
        if name not in (*now, *EDITABLE) and is_ours(folder, name, known):
            (folder / name).unlink()


def _contents(manifest: ExportManifest) -> Mapping[str, bytes]:
    book = codebook(manifest)
    return {
        PAGE: codebook_page(book).encode(),
        BOOK: as_json(book),
        METADATA: orjson.dumps(metadata(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        **{file_name(study, manifest.studies): study.document.encode() for study in manifest.studies},
        **tidy_documents(manifest),
        **({MARKED: _marked(manifest)} if manifest.screening == "mark" else {}),
        **(pictures_table(manifest) if manifest.pictures else {}),
    }


def _marked(manifest: ExportManifest) -> bytes:
    """The rows in which personal data were found; no value is repeated."""
    rows = ((one.path, one.row, one.column, one.kind, one.number) for one in manifest.personal)
    return csv_text(("file", "row", "column", "kind", "count"), rows).encode()


def _editable(manifest: ExportManifest) -> Mapping[str, bytes]:
    texts = {README: dataset_card(manifest), **citation_files(manifest)}
    return {name: text.encode() for name, text in texts.items()}


def _write(folder: Path, contents: Mapping[str, bytes]) -> Iterator[Path]:
    for name, content in contents.items():
        path = folder / name
        with writing(path) as file:
            file.write(content)
        yield path
