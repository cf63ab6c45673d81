"""The pages that people wrote, cut into the blocks of code that stand in them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from tests.fakes import commanding

ROOT = Path(__file__).parents[2]
GENERATED = ("reference", "gallery", "decisions")
DOCS = ROOT / "docs"
WRITTEN = tuple(path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in GENERATED)
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN)
REFERENCE = tuple(path for name in GENERATED for path in sorted((DOCS / name).rglob("*.md")))

RUN = """
import shlex, sys, app.cli
from problems.errors import ParleyError
for line in sys.argv[1:]:
    wrong = line.startswith("!")
    try:
        app.cli.app(shlex.split(line.removeprefix("!")), standalone_mode=False)
    except ParleyError as error:
        print(error)
        assert wrong, line
    else:
        assert not wrong, line
"""

_BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it is written in, and the file that it is to be saved as, if any."""

    page: str
    line: int
    language: str
    text: str
    file: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path, language: str = "") -> Iterator[Block]:
    """The blocks of a page in order, of one language if it is given."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if language in ("", match["language"]):
            yield Block(name, line, match["language"], match["text"], match["file"])


def save_files(page: Path, folder: Path) -> None:
    """Save every block that has a file's name."""
    for block in blocks(page):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")


def parley(folder: Path, *commands: str, **settings: str) -> str:
    """What `parley` prints for some commands in a folder, without settings of this machine; all must succeed."""
    env: dict[str, Any] = {**dict.fromkeys([*_settings(), "PARLEY_DATABASE_URL"]), **settings}
    printed = []
    for command in commands:
        done = commanding.parley(*shlex.split(command), folder=folder, **env)
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    return "".join(printed)


def parley_with(packages: Path, *commands: str) -> str:
    """Run commands with the packages of a folder installed, all in one process; one that begins with ! must fail."""
    env = {name: value for name, value in os.environ.items() if name not in _settings()}
    env |= {"PYTHONPATH": f"{packages}{os.pathsep}{ROOT}", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}
    words = [sys.executable, "-c", RUN, *commands]
    done = subprocess.run(words, cwd=packages, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{commands}: {done.stdout}\n{done.stderr}"
    return done.stdout


def _settings() -> list[str]:
    return [name for name in os.environ if name.startswith("PARLEY_")]


def python(folder: Path, code: str) -> str:
    """What a page's code prints in a folder; a warning is an error, as in every test."""
    printed = StringIO()
    with chdir(folder), redirect_stdout(printed):
        exec(code, {})
    return printed.getvalue()
