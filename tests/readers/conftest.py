"""What the tests of readers that others wrote share: their environment, and exports of simulated studies.

The readers run in a subprocess with the Python of `.venv-readers`, which `make readers` installs: they need packages
that Parley does not. They find no network there.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from tests.conftest import IN_CI, ROOT
from tests.fakes.databases import fill
from tests.fakes.once import database_of

ENVIRONMENT = ROOT / ".venv-readers"
# How many simulated sessions of a study an export has, unless a test asks for more.
SESSIONS = 2
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "JAX_PLATFORMS": "cpu"}

ExportOf = Callable[..., Path]
RunReader = Callable[..., Any]


@pytest.fixture(scope="session")
def readers_python() -> str:
    """The Python that has the readers; CI must have it."""
    if not (ENVIRONMENT / ".stamp").exists():
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse(f"there is no {ENVIRONMENT}, which has the readers that others wrote; `make readers` installs it")
    return str(ENVIRONMENT / "bin" / "python")


@pytest.fixture(scope="session")
def run_reader(readers_python: str, tmp_path_factory: pytest.TempPathFactory) -> RunReader:
    """Run a script of tests/readers/scripts (by its name, with arguments); the JSON that it prints last is returned."""
    home = tmp_path_factory.mktemp("readers")

    def run(script: str, *args: object) -> Any:
        path = Path(__file__).parent / "scripts" / f"{script}.py"
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run(
            [readers_python, str(path), *map(str, args)],
            env={**known, **OFFLINE, "HOME": str(home), "HF_HOME": str(home / "hf")},
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def export_of(tmp_path_factory: pytest.TempPathFactory) -> ExportOf:
    """The folder with an export of a simulated study, by its name or file: `export_of(study, schema, sessions)`, with
    what else an ExportRequest has. Each is made once."""

    @cache
    def made(study: str, schema: str = "", sessions: int = SESSIONS, **asked: Any) -> Path:
        name = f"{Path(study).stem}-{sessions}"
        fill_it = lambda database: asyncio.run(fill(database, [study], sessions, "1"))  # noqa: E731
        database = database_of(tmp_path_factory, name, fill_it)
        folder = tmp_path_factory.mktemp("export") / (schema or Path(study).stem)
        export(database, ExportRequest(Path(study).stem, schema or study, **asked), folder)
        database.dispose()
        return folder

    return made
