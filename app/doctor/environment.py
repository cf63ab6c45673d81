"""Where the settings come from: the environment and `.env`, and what in them has no effect."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from dotenv.parser import parse_stream

from app.config.settings import ENV_FILE, names_in_use, overridden, unknown
from app.doctor.finding import Diagnosis, error, ok, warning
from problems.errors import DISTRIBUTION
from problems.plugins import nowhere


def check_environment() -> Iterator[Diagnosis]:
    """The folder, `.env`, misspelled variables, and packages that offer what nobody looks for."""
    yield ok(f"Parley {version(DISTRIBUTION)}, Python {platform.python_version()}, in the folder {Path.cwd()}.")
    yield from check_env_file(Path(ENV_FILE))
    for sentence in (*unknown(names_in_use()), *nowhere()):
        what, _, to_do = sentence.partition(". ")
        yield warning(f"{what.rstrip('.')}.", to_do)
    for name in overridden():
        yield warning(
            f"{name} has one value in the environment and another in {ENV_FILE}; the one of the environment is used.",
            f"Remove it from {ENV_FILE}, or from the environment.",
        )


def check_env_file(file: Path) -> Iterator[Diagnosis]:
    """The file of settings: whether each line is understood, and who may read it."""
    if not file.exists():
        yield ok(f"There is no file {ENV_FILE} in this folder, so the settings are those of the environment.")
        return
    with file.open(encoding="utf-8") as text:
        for line in parse_stream(text):
            if line.error:
                yield error(
                    f"{file}, line {line.original.line}: this line is not understood, and has no effect.",
                    "Write NAME=value, and close each quotation mark.",
                )
    yield ok(f"Settings are read from {file.resolve()}; variables of the environment win.")
    if os.name != "nt" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield warning(f"Other users of this machine can read {file}, which may hold keys.", f"chmod 600 {file}")
