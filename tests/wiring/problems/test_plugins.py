"""Packages of somebody else's that are faulty: what works without them works, and whoever can mend it is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.served import SECRET

ROOT = Path(__file__).parents[3]
STUDY = """
study: hello
title: Hello
export_schemas: []
flow:
  - {step: hello}
  - step: finish
"""


def installed(folder: Path, group: str, module: str, text: str) -> Path:
    """A folder in which a package with one module is, as an installer leaves it."""
    (folder / f"{module}.py").write_text(text)
    told = folder / "far_lab-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: far-lab\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[{group}]\nmine = {module}\n")
    (folder / "hello.yaml").write_text(STUDY)
    return folder


ALL = """
import json, sys
from pathlib import Path
from tests.fakes.commanding import parley
for words in map(str.split, sys.argv[1:]):
    done = parley(*words, folder=Path.cwd())
    print(json.dumps([done.returncode, done.stderr]))
"""


def parley(
    folder: Path, *words: str, code: str = "from app.cli import main; main()"
) -> subprocess.CompletedProcess[str]:
    """A command, in a process of its own in which the package is found."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    env = {**ours, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COLUMNS": "200", "PARLEY_SECRET": SECRET}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.nightly
def test_an_annotator_that_cannot_be_loaded_stops_no_other_command(tmp_path: Path) -> None:
    folder = installed(tmp_path, "parley.annotators", "sorry", "import sys\nsys.exit(0)\n")
    words = "annotate run demo --annotator user_effort --model scripted:x --dry-run"
    done = parley(folder, "annotate run --help", "simulate demo -n 1", words, code=ALL)
    helped, simulated, (refused, said) = map(json.loads, done.stdout.splitlines())
    assert (helped[0], simulated[0], refused) == (0, 0, 2), done.stderr
    assert "'mine', which the package far-lab provides for parley.annotators" in " ".join(said.split())
