"""The shipped server as a process of its own, on a core of its own."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.config.settings import Settings
from tests.bench.model_server import SERVERS_CORE, on_core
from tests.fakes.served import FAST, Process

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(map(str, (Path(__file__).with_name("shipped"), ROOT, sysconfig.get_path("purelib"))))


@contextmanager
def parley(folder: Path, study: Path | str, **settings: object) -> Iterator[Process]:
    """`parley serve` with the limits of rates that it is shipped with, over the database of its folder."""
    given = {name: Settings.model_fields[name].default for name in FAST} | {"log_level": "WARNING"} | settings
    env = {f"PARLEY_{name.upper()}": str(value) for name, value in given.items()}
    process = Process(folder, (Path(study),), env | {"PYTHONPATH": PATHS}, forked=False)
    with on_core(SERVERS_CORE):
        process.start()
    try:
        yield process
    finally:
        process.stop()


def used_s(process: Process) -> float:
    """Seconds of a processor that a process has used."""
    return cpu_s(process.pid)


def cpu_s(pid: int) -> float:
    told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
