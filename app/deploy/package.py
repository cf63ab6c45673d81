"""Parley itself as files that a host can install: a wheel built from its source, and the pins of what it needs.

No registry has a published Parley, so a folder brings its own: what runs there is what runs here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.errors import SettingsError

ROOT = Path(__file__).parents[2]
"""The folder of the source, where Parley runs from it."""
LOCK, PROJECT = "requirements.lock", "pyproject.toml"
PACKAGES = ("app", "experiments", "storage", "problems")
DEVELOPERS = "# dev:"
"""What begins the line of the lock below which is what only developers need."""
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


@dataclass(frozen=True)
class Package:
    """The wheel of Parley with its file's name, and the pins with their hashes."""

    name: str
    wheel: bytes
    pins: str


def require_source(source: Path) -> None:
    """Raise SettingsError if this folder has no source of Parley."""
    if not all((source / name).exists() for name in (LOCK, PROJECT, *PACKAGES)):
        raise SettingsError(
            f"{source}: there is no source of Parley, from which `parley deploy` builds what the host installs. "
            "Get it with `git clone`, and name its folder: --source FOLDER"
        )


def build(source: Path) -> Package:
    """Build the wheel of the source in this folder, in a copy of it; raises SettingsError."""
    require_source(source)
    with TemporaryDirectory() as folder:
        copy, out = Path(folder) / "source", Path(folder) / "wheel"
        copy.mkdir()
        out.mkdir()
        for name in PACKAGES:
            shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in (PROJECT, "LICENSE", "README.md"):
            shutil.copy(source / name, copy)
        done = subprocess.run(  # noqa: S603  (our own interpreter, with our own words)
            [sys.executable, "-c", BUILD, out], cwd=copy, capture_output=True, text=True, check=False
        )
        wheels = [*out.glob("*.whl")]
        if done.returncode or not wheels:
            raise SettingsError(
                f"The wheel of Parley could not be built: {done.stderr.strip()[-300:]}. It needs setuptools: "
                f"{sys.executable} -m pip install 'setuptools>=80'"
            )
        lock = (source / LOCK).read_text(encoding="utf-8")
        return Package(wheels[0].name, wheels[0].read_bytes(), lock.partition(f"\n{DEVELOPERS}")[0] + "\n")
