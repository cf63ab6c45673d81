"""The files of a study, as far as the study reads them: what else is in its folder is nobody's business."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from app.studies.loader import FILE, INSTRUMENTS, PROTOCOLS, load_study
from experiments.errors import StudyError, ValidationIssue

NAMED = re.compile(r"[\w./-]+\.(?:csv|tsv|jsonl?|xlsx|ya?ml|md|txt|png|jpe?g|webp|gif)\b")
"""The name of a file, in a text."""
BESIDE = (PROTOCOLS.name, INSTRUMENTS.name)
"""Folders beside a study file from which it may take parts by name."""


def files_of(path: Path) -> dict[str, bytes]:
    """The contents of the study file at `path`, as `study.yaml`, and of the files that it reads, by path beside it.

    Found are the files whose names are written in the study file or in a file that was found. The copy has to be the
    same study: raises StudyError otherwise.
    """
    found = {FILE: path.read_bytes()}
    parts = [part for name in BESIDE for part in sorted((path.parent / name).glob("*.y*ml"))]
    found |= {part.relative_to(path.parent).as_posix(): part.read_bytes() for part in parts}
    todo = [*found]
    while todo:
        text = found[todo.pop()].decode("utf-8", "replace")
        for name in sorted({*NAMED.findall(text)} - {*found}):
            if _is_beside(path.parent, name):
                found[name] = (path.parent / name).read_bytes()
                todo.append(name)
    _must_be_the_same(path, found)
    return found


def _is_beside(folder: Path, name: str) -> bool:
    file = (folder / name).resolve()
    return file.is_file() and file.is_relative_to(folder.resolve())


def _must_be_the_same(path: Path, files: dict[str, bytes]) -> None:
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        try:
            same = load_study(str(Path(folder) / FILE)).hash == load_study(str(path)).hash
        except StudyError:
            load_study(str(path))  # a fault of the study itself is told as it is
            same = False
    if not same:
        raise StudyError(
            str(path),
            [
                ValidationIssue(
                    "",
                    "reads a file that could not be found by its name in the study file, so it cannot be copied. Files "
                    "have to be in the study's folder or below it, with names of letters, digits and _ - . only",
                )
            ],
        )
