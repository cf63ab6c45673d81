"""The core's own tests pass in a copy without any extension, and without the tests of extensions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[3]
# All rules and contracts; of the tests with processes those of the packages that ask extensions for what they add.
TESTS = {
    "core": ("tests/core",),
    "contract": ("tests/contract",),
    "wiring": [f"tests/wiring/app/{name}" for name in ("test_cli.py", "studies", "use_cases", "web/console")],
}
# What a run leaves behind, and what no test of the core reads.
LEFT_BEHIND = ("__pycache__", ".venv*", ".git", ".*_cache", ".hypothesis", "build", "*.egg-info", "*.db*")
LONGEST_S = 3600


@pytest.fixture
def copy() -> Iterator[Path]:
    """A folder that everybody may enter, as some tests run commands as another user."""
    with TemporaryDirectory(prefix="parley-core-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.nightly
@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize("kind", TESTS)
def test_the_core_passes_its_tests_without_extensions(kind: str, copy: Path) -> None:
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND), dirs_exist_ok=True)
    for folder in (*copy.glob("app/extensions/*/"), *copy.glob("tests/*/app/extensions")):
        if folder.is_dir():
            shutil.rmtree(folder)
    (copy / "parley_studies").symlink_to(copy / "app" / "parley_studies")  # as an installation has it
    known = {**os.environ, "PYTHONPATH": str(copy)}
    words = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS[kind]]
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=known, capture_output=True, text=True, check=False, timeout=LONGEST_S
    )
    assert done.returncode == 0, done.stdout[-20_000:]
