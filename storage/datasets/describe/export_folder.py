"""The folder of an export: its files move into place all at once and are described; none of other origin is replaced.

People edit some of the describing files by hand before they publish: the card and the files for citation. They are not
in `SHA256SUMS`. Their checksums as written are kept in a file of their own, so that the next export can tell whether
somebody edited them: it never replaces an edited file, but writes the new text beside it (`README.md.new`) if that is
another than last time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import orjson

from storage.datasets.describe.codebook import as_json, codebook, codebook_page
from storage.datasets.describe.croissant import metadata
from storage.datasets.describe.dataset_card import dataset_card
from storage.datasets.describe.metadata_files import CFF, ZENODO, citation_files
from storage.datasets.describe.pictures import files as picture_files
from storage.datasets.describe.pictures import table as pictures_table
from storage.datasets.describe.publication import STUDY, file_name
from storage.datasets.manifest import ExportManifest
from storage.datasets.writers import csv_text
from storage.db.checksums import NAME, is_ours, recorded, sums
from storage.db.private_files import make_folder, writing
from storage.errors import StorageError

PAGE, BOOK, METADATA, MARKED = "codebook.md", "codebook.json", "metadata.json", "personal_data.csv"
# The describing files that nobody edits; `study.json` is replaced by one file per version if there are several.
NAMES = (PAGE, BOOK, METADATA, STUDY, MARKED, NAME)
README = "README.md"
EDITABLE = (README, CFF, ZENODO)
# The checksums of the editable files as the last export wrote them.
WRITTEN = ".editable.sha256"
NEW = ".new"
MOST_NAMED = 5


def written_before(folder: Path) -> Mapping[str, str]:
    """The checksums of the editable files as an earlier export wrote them. Older exports had the card's in
    `SHA256SUMS`."""
    return {**recorded(folder), **recorded(folder, WRITTEN)}


def edited(folder: Path) -> list[str]:
    """The editable files that are not as an export left them."""
    before = written_before(folder)
    return [name for name in EDITABLE if (folder / name).exists() and not is_ours(folder, name, before)]


def new_beside_edited(folder: Path) -> list[str]:
    """The edited files beside which a newer text of an export is."""
    return [name for name in edited(folder) if (folder / (name + NEW)).exists()]


def write_editable(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write the editable files; returns the paths of those that were written.

    For an edited file, the new text is written beside it, unless it is that of the last export. What an earlier export
    wrote, and this one does not, is removed unless it was edited.
    """
    before, by_hand = written_before(folder), edited(folder)
    now: dict[str, bytes] = {}
    for name, content in contents.items():
        if name not in by_hand:
            now[name] = content
        elif _digest(content) != before.get(name):
            now[name + NEW] = content
    hashes = {name: hash_ for name, hash_ in before.items() if name.endswith(NEW)}
    hashes |= {name: _digest(content) for name, content in {**contents, **now}.items()}
    for name in EDITABLE:
        for old in () if name in by_hand else (name, name + NEW):
            if old not in now and is_ours(folder, old, before):
                (folder / old).unlink()
    now[WRITTEN] = sums(hashes).encode()
    for name, content in now.items():
        with writing(folder / name) as file:
            file.write(content)
    return tuple(folder / name for name in now)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@contextmanager
def writing_folder(folder: Path, names: Sequence[str], also: Sequence[str] = ()) -> Iterator[Mapping[str, Path]]:
    """Yield temporary paths for the named files; the files are moved into place once all of them are complete.

    `also` are describing files that not every export has. Raises StorageError if a file of any of these names exists
    that is not an unchanged file of an earlier export. Files that people edit are kept where they were edited, so only
    the new text of an earlier export beside them is in question.
    """
    _nobody_elses(folder, (*names, *NAMES, *also), recorded(folder))
    _nobody_elses(folder, [name + NEW for name in edited(folder)], written_before(folder))
    paths = {name: (folder / name).with_name(f".{Path(name).name}.unfinished") for name in names}
    try:
        for path in paths.values():
            make_folder(path.parent)
            path.unlink(missing_ok=True)
        yield paths
        for name, path in paths.items():
            path.replace(folder / name)
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _nobody_elses(folder: Path, names: Sequence[str], known: Mapping[str, str]) -> None:
    found = [name for name in names if (folder / name).exists() and not is_ours(folder, name, known)]
    if found:
        more = ", ..." if len(found) > MOST_NAMED else ""
        raise StorageError(
            f"{folder}: the folder has {', '.join(found[:MOST_NAMED])}{more}, not written by an export or changed "
            "since, which this export would overwrite. Nothing was written. Choose another folder, or move it away"
        )


def describe(manifest: ExportManifest) -> tuple[Path, ...]:
    """Write the describing files into the folder of an export; returns the paths of those that were written."""
    contents = _contents(manifest)
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes |= {file.lines.path: file.lines.sha256 for file in manifest.files if file.lines}
    hashes |= {path: picture.sha256 for path, picture, _ in picture_files(manifest)}
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
