"""A model's file served by llama.cpp in a process of its own, which starts when it is first needed, and again where it
has ended.

Its standard input is a pipe from this process and nothing but that keeps it running, on every system: the pipe ends
with this process even if it is killed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO

from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendDenied
from app.single_flight import SingleFlight

log = logging.getLogger(__name__)

CHILD = Path(__file__).with_name("llama_child.py")
MOST_SAID = 600


class LlamaServer:
    def __init__(self, file: Path, settings: Settings) -> None:
        self._file, self._settings = file, settings
        self._starting: SingleFlight[Server] = SingleFlight()
        self._process: Popen[bytes] | None = None
        self._server: Server | None = None

    async def running(self) -> Server:
        """The server, listening; raises BackendDenied if the file cannot be loaded."""
        if self._server is None or self._process is None or self._process.poll() is not None:
            self._server = await self._starting.get(lambda: asyncio.to_thread(self._start))
        return self._server

    def end(self) -> None:
        """End the process, also one that is still loading."""
        if self._process is not None:
            self._process.kill()  # it keeps nothing, and while it loads it reads nothing
            self._process.communicate()
            self._process = self._server = None

    def _start(self) -> Server:
        if self._process is not None:
            log.error("the process of the model %s exited (%s); starting another", self._name, self._process.poll())
            self.end()
        key = secrets.token_urlsafe()
        # -P: beside the script are modules with names of Python's own
        command = [sys.executable, "-P", str(CHILD)]
        with TemporaryFile() as errors:
            self._process = process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=errors)  # noqa: S603
            address = _told(process, self._given(key))
            if not address:
                raise BackendDenied(f"{self._file} cannot be loaded: {_end_of(errors)}", reason="not_loaded")
        return Server.model_validate({"url": f"{address}/v1", "key": key})

    @property
    def _name(self) -> str:
        return self._file.stem

    def _given(self, key: str) -> Mapping[str, str | int]:
        settings = self._settings
        return {
            "file": str(self._file),
            "name": self._name,
            "key": key,
            "threads": settings.llama_threads or max(1, (os.cpu_count() or 2) - 1),
            "context": settings.llama_context,
            "slots": settings.llama_slots,
        }


def _told(process: Popen[bytes], given: Mapping[str, str | int]) -> str:
    """The address that a process gives once it is listening; empty if it ends before."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError  # both are pipes
    process.stdin.write(json.dumps(given).encode() + b"\n")
    process.stdin.flush()
    return process.stdout.readline().decode().strip()


def _end_of(errors: IO[bytes]) -> str:
    errors.seek(0)
    return " ".join(errors.read().decode(errors="replace").split())[-MOST_SAID:] or "its process ended without a word"
