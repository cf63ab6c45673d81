"""The folder of an export: its files move into place all at once and are described; none of other origin is replaced.

People edit some of the describing files by hand before they publish: the card and the files for citation. They are not
in `SHA256SUMS`; their checksums as written are kept in a file of their own, so that the next export can tell whether
somebody edited them, and keeps those. It replaces no other file that was changed since: then it writes nothing.
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
from storage.datasets.describe.hub_configs import hub_configs
from storage.datasets.describe.metadata_files import CFF, ZENODO, citation_files
from storage.datasets.describe.pictures import table as pictures_table
from storage.datasets.describe.publication import STUDY, file_name, publication
from storage.datasets.manifest import ExportManifest
from storage.db.checksums import NAME, is_ours, recorded, sums
from storage.db.private_files import make_folder, writing
from storage.errors import StorageError
from storage.yaml_text import yaml_text

PAGE, BOOK, METADATA, HUB = "codebook.md", "codebook.json", "metadata.json", ".huggingface.yaml"
README = "README.md"
EDITABLE = (README, CFF, ZENODO)
# The describing files; `study.json` is replaced by one file per version if there are several.
NAMES = (PAGE, BOOK, METADATA, HUB, STUDY, NAME, *EDITABLE)
# The checksums of the editable files as the last export wrote them.
WRITTEN = ".editable.sha256"
MOST_NAMED = 5


def _written_before(folder: Path) -> Mapping[str, str]:
    """The checksums of all files as an earlier export wrote them."""
    return {**recorded(folder), **recorded(folder, WRITTEN)}


def edited(folder: Path) -> list[str]:
    """The editable files that are not as an export wrote them, which the next one keeps."""
    known = _written_before(folder)
    there = [name for name in EDITABLE if name in known and (folder / name).exists()]
    return [name for name in there if not is_ours(folder, name, known)]


@contextmanager
def writing_folder(folder: Path, names: Sequence[str], also: Sequence[str] = ()) -> Iterator[Mapping[str, Path]]:
    """Yield temporary paths of the named files, moved into place once all are complete. `also` are describing files
    that not every export has. Raises StorageError if a file of such a name is neither an unchanged file of an earlier
    export nor an edited one that is kept."""
    kept = edited(folder)
    _nobody_elses(folder, [name for name in (*names, *NAMES, *also) if name not in kept])
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


def _nobody_elses(folder: Path, names: Sequence[str]) -> None:
    known = _written_before(folder)
    found = [name for name in names if (folder / name).exists() and not is_ours(folder, name, known)]
    if found:
        more = ", ..." if len(found) > MOST_NAMED else ""
        raise StorageError(
            f"{folder}: the folder has {', '.join(found[:MOST_NAMED])}{more}, not written by an export or changed "
            "since, which this export would overwrite. Nothing was written. Choose another folder, or move it away"
        )


def describe(manifest: ExportManifest) -> tuple[Path, ...]:
    contents = _contents(manifest)
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes |= {file.lines.path: file.lines.sha256 for file in manifest.files if file.lines}
    hashes |= {path: picture.sha256 for path, picture, _ in manifest.pictures}
    hashes |= {name: sha256(content).hexdigest() for name, content in contents.items()}
    known, kept = _written_before(manifest.folder), edited(manifest.folder)
    texts = {name: text.encode() for name, text in _editable(manifest).items() if name not in kept}
    editable = {name: sha256(content).hexdigest() for name, content in texts.items()}
    editable |= {name: known[name] for name in kept}
    _remove_older(manifest.folder, {**hashes, **editable})
    written = {**texts, WRITTEN: sums(editable).encode(), **contents, NAME: sums(hashes).encode()}
    return tuple(_write(manifest.folder, written))


def _remove_older(folder: Path, now: Collection[str]) -> None:
    """Remove files of an earlier export that this one has not written, unless they were changed since."""
    known = _written_before(folder)
    for name in known:
        if name not in now and is_ours(folder, name, known):
            (folder / name).unlink()


def _contents(manifest: ExportManifest) -> Mapping[str, bytes]:
    book = codebook(manifest)
    return {
        PAGE: codebook_page(book).encode(),
        BOOK: as_json(book),
        METADATA: orjson.dumps(metadata(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        HUB: yaml_text(hub_configs(manifest)).encode(),
        **{file_name(study, manifest.studies): study.document.encode() for study in manifest.studies},
        **(pictures_table(manifest) if manifest.pictures else {}),
    }


def _editable(manifest: ExportManifest) -> Mapping[str, str]:
    citation = citation_files(manifest) if publication(manifest).authors else {}
    return {README: dataset_card(manifest), **citation}


def _write(folder: Path, contents: Mapping[str, bytes]) -> Iterator[Path]:
    for name, content in contents.items():
        path = folder / name
        with writing(path) as file:
            file.write(content)
        yield path
