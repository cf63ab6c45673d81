"""The one importable name: what it has, and that a notebook's own files do not get in its way."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

KINDS = ("annotators", "backends", "methods", "problems", "steps", "users")


@pytest.mark.parametrize("module", ["commands", "extensions", *KINDS])
def test_a_module_has_what_it_names(module: str) -> None:
    found = import_module(f"parley_studies.{module}")
    assert len(set(found.__all__)) == len(found.__all__)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []


@pytest.mark.parametrize("kinds", KINDS)
def test_each_group_of_entry_points_has_a_module_with_what_registers(kinds: str) -> None:
    registers = {"problems": "source"}.get(kinds, kinds.removesuffix("s"))
    assert registers in import_module(f"parley_studies.{kinds}").__all__


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
