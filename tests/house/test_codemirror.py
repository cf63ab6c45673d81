"""CodeMirror is one file that was built from a lock; nobody edits it by hand (docs/decisions/0014)."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "app/web/console"
SOURCE = CONSOLE / "codemirror"


def test_the_file_is_the_one_that_was_built() -> None:
    hash_, name = (SOURCE / "codemirror.sha256").read_text(encoding="utf-8").split()
    assert sha256((CONSOLE / "static" / name).read_bytes()).hexdigest() == hash_
