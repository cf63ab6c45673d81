"""A server imports what it needs: the start is measured by tests/bench/start.py, and this keeps it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Of servers with such models, with recruiters' ids, with Prolific's tokens, with models that judge, and with tools.
OTHERS = ("openai", "app.backends.openai", "xllamacpp", "cryptography", "jwt", "jsonschema", "mcp")
SERVER = """
import sys
from app.cli.serve import build_app, load_all
from app.config.settings import Settings
from storage.db.engine import open_database
settings = Settings(database_url=sys.argv[1])
studies = [study for _, study in load_all(settings, ["demo"])]
build_app(settings, open_database(settings.database_url), studies)
print(*sys.modules)
"""


@pytest.mark.nightly
def test_a_server_imports_nothing_that_only_other_servers_need(tmp_path: Path) -> None:
    command = (sys.executable, "-c", SERVER, f"sqlite:///{tmp_path / 'parley.db'}")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert ("gradio" in loaded, [name for name in OTHERS if name in loaded]) == (True, [])
