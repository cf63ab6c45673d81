"""The pages that people wrote, cut into the blocks of code that stand in them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
REFERENCE = tuple(sorted((ROOT / "docs" / "reference").glob("*.md")))

RUN = "import shlex, sys, app.cli\nfor line in sys.argv[1:]: app.cli.app(shlex.split(line), standalone_mode=False)"

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
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if language in ("", match["language"]):
            yield Block(page.name, line, match["language"], match["text"], match["file"])


def save_files(page: Path, folder: Path) -> None:
    """Save every block that has a file's name."""
    for block in blocks(page):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")


def parley(folder: Path, *commands: str, packages: Path | None = None) -> str:
    """What `parley` prints for some commands in a folder, without settings of this machine; all must succeed.

    They run in one process, because starting one takes seconds.
    """
    return python(folder, "-c", RUN, *commands, packages=packages)


def python(folder: Path, *arguments: str, packages: Path | None = None) -> str:
    """What this Python prints in a folder; it must succeed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    paths = [str(path) for path in (packages, ROOT) if path]
    env |= {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
    return done.stdout
