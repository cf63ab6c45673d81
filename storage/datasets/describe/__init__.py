"""What lies beside exported data so that they explain themselves: one file of this package for each thing.

All of it follows from what was exported, so the same data have the same description, to the byte.
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
"""What is beside the data of an export; in place of the study there may be several of its versions."""


def describe(exported: ExportManifest) -> tuple[Path, ...]:
    """Write what explains an export into its folder; the files that were written."""
    contents = _contents(exported)
    hashes = {file.path: file.sha256 for file in exported.files}
    hashes |= {name: sha256(content).hexdigest() for name, content in contents.items()}
    _remove_older(exported.folder, hashes)
    return tuple(_write(exported.folder, {**contents, NAME: sums(hashes).encode()}))


def _remove_older(folder: Path, now: Collection[str]) -> None:
    """Remove what an earlier export wrote there and this one did not; nothing else, and nothing changed since."""
    known = recorded(folder)
    for name in known:
        if name not in now and is_ours(folder, name, known):
            (folder / name).unlink()


def _contents(exported: ExportManifest) -> Mapping[str, bytes]:
    """Every file by its name, apart from the checksums."""
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
