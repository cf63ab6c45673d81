"""The one importable name: a notebook's own files do not get in its way."""

import subprocess
import sys
from pathlib import Path

import pytest


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code as a notebook does: the folder it is in comes first on the path."""
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("name", ["app", "experiments", "storage", "problems"])
def test_a_file_of_the_folder_does_not_get_in_the_way(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('imported the file of the folder')\n")
    done = python(
        tmp_path, f"import sys; before = [*sys.path]; import parley_studies, {name}; print(sys.path == before)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
