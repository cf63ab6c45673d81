"""Gradio, imported for the first time, without the stubs for editors that it writes for each of its components.

It does so whenever it is imported, by way of the components' source files: a third of the time until the first page. Of
a class without a file it makes none. Where `mcp` is installed, Gradio imports it for a server of its own: a sixth of
the rest. The servers import this module before any other that imports Gradio.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def _without_mcp() -> Iterator[None]:
    """Let the package `mcp` be as if it was not installed, unless it was imported before."""
    there = "mcp" in sys.modules
    sys.modules.setdefault("mcp", None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        if not there:
            del sys.modules["mcp"]


@contextmanager
def _without_files_of_gradio() -> Iterator[None]:
    """Let no class of Gradio's have a file."""
    file_of = inspect.getfile

    def getfile(of: Any) -> str:
        if isinstance(of, type) and of.__module__.startswith("gradio."):
            raise OSError(f"{of} has no file")
        return file_of(of)

    inspect.getfile = getfile  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getfile = file_of


with suppress(OSError), _without_mcp(), _without_files_of_gradio():  # where a Gradio minds, the next import is as usual
    import gradio  # noqa: F401
