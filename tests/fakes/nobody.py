"""Somebody who may not do what root may: tests that run as root would otherwise find every file open to them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

NOBODY = 65_534


def as_nobody(*works: Callable[[Path], str | None]) -> str:
    """Let works be done one after the other in a folder of their own, by a user without rights where we are root; what
    the last of them said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            return _done(works, folder)
        os.chown(folder, NOBODY, NOBODY)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.write(write, _done(works, folder).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as said:
            found = said.read()
        os.waitpid(child, 0)
        return found


def _done(works: tuple[Callable[[Path], str | None], ...], folder: Path) -> str:
    return [work(folder) or "" for work in works][-1]
