"""An export as one zip file: the files that its checksums list and those that people edit, as they edited them.

It has always the same bytes for the same files.

It is written under a temporary name and renamed when it is complete, so an incomplete file is never downloaded.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from storage.datasets.describe.export_folder import EDITABLE, WRITTEN
from storage.db.checksums import NAME, recorded
from storage.db.private_files import FILE, create

# The earliest time that a zip can store. Modification times are not part of the data.
BEGINNING = (1980, 1, 1, 0, 0, 0)
UNIX = 3
OWN = FILE << 16


def zip_export(folder: Path, target: Path | None = None) -> Path:
    """Write the folder of an export as a zip file, `<folder>.zip` beside it by default."""
    folder = folder.resolve()
    target = target or folder.with_name(f"{folder.name}.zip")
    names = [*recorded(folder), NAME, *(name for name in (*EDITABLE, WRITTEN) if (folder / name).is_file())]
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=target.parent) as there:
        packed = Path(there) / target.name
        with create(packed) as file, ZipFile(file, "w") as archive:
            for name in sorted(names):
                _add(archive, folder / name, name)
        packed.replace(target)
    return target


def zip_texts(contents: Mapping[str, str], file: BinaryIO) -> None:
    with ZipFile(file, "w") as archive:
        for name, text in contents.items():
            archive.writestr(_info(name), text.encode())


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, BEGINNING)
    info.compress_type, info.create_system, info.external_attr = ZIP_DEFLATED, UNIX, OWN
    return info


def _add(archive: ZipFile, path: Path, name: str) -> None:
    info = _info(name)
    info.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(info, "w") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
