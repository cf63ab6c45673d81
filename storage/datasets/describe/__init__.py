"""Files that describe an export: dataset card, codebook, Croissant metadata, study documents and checksums.

They depend on the exported data alone, so exporting identical data gives identical files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from storage.datasets.describe.codebook import as_json, codebook, codebook_page
from storage.datasets.describe.croissant import metadata
from storage.datasets.describe.dataset_card import dataset_card
from storage.datasets.describe.study_documents import STUDY, documents
from storage.datasets.manifest import ExportManifest
from storage.db.checksums import NAME, is_ours, recorded, sums
from storage.db.private_files import writing

README, PAGE, BOOK, METADATA = "README.md", "codebook.md", "codebook.json", "metadata.json"
NAMES = (README, PAGE, BOOK, METADATA, STUDY, NAME)
"""The describing files of an export; `study.json` is replaced by one file per version if there are several."""


def describe(exported: ExportManifest) -> tuple[Path, ...]:
    """Write the describing files into the folder of an export; returns their paths."""
    contents = _contents(exported)
    hashes = {file.path: file.sha256 for file in exported.files}
    hashes |= {name: sha256(content).hexdigest() for name, content in contents.items()}
    _remove_older(exported.folder, hashes)
    return tuple(_write(exported.folder, {**contents, NAME: sums(hashes).encode()}))


def _remove_older(folder: Path, now: Collection[str]) -> None:
    """Remove files of an earlier export that this one has not written, unless they were changed since."""
    known = recorded(folder)
    for name in known:
        if name not in now and is_ours(folder, name, known):
            (folder / name).unlink()


def _contents(exported: ExportManifest) -> Mapping[str, bytes]:
    """The content of every describing file by name, without the checksums."""
    book = codebook(exported)
    return {
        README: dataset_card(exported).encode(),
        PAGE: codebook_page(book).encode(),
        BOOK: as_json(book),
        METADATA: (json.dumps(metadata(exported), indent=2, ensure_ascii=False) + "\n").encode(),
        **documents(exported.studies),
    }


def _write(folder: Path, contents: Mapping[str, bytes]) -> Iterator[Path]:
    for name, content in contents.items():
        path = folder / name
        with writing(path) as file:
            file.write(content)
        yield path
