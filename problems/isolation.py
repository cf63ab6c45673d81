"""A process of its own, with limits of memory and time, for what libraries in C read of people's files.

A damaged file can end a process that reads it, and a small one can unpack to all memory that there is. The child hands
back JSON and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any

from problems.errors import ProblemError

# What a child may take beside its libraries; it is given more time on the clock, as the machine may be busy.
MEMORY_MB, CPU_S, WALL_S = 768, 40, 600
MOST_ANSWERED = 500_000_000
_ROOT = Path(__file__).parents[1]
_ONE_AT_A_TIME = Lock()


def in_child(module: str, path: Path, *words: str) -> Any:
    """The JSON that `python -m MODULE PATH WORD...` prints; raises ProblemError for a file that ends the child."""
    command = [sys.executable, "-m", module, str(path.absolute()), *words]
    with _ONE_AT_A_TIME, TemporaryFile() as answer, suppress(subprocess.SubprocessError, ValueError):
        subprocess.run(  # noqa: S603  # this interpreter, a module of ours, and a path
            command,
            cwd=_ROOT,  # where `-m` finds the module, installed or not
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            timeout=WALL_S,
            check=True,
        )
        answer.seek(0)
        return json.load(answer)
    raise ProblemError(
        f"{path}: cannot be read: it is damaged, or takes more than {MEMORY_MB} MB of memory or {CPU_S} s. "
        "Save it anew, with fewer rows, or as CSV."
    )


def limit_this_process() -> None:
    """Limit what this process, a child, may take from now on; called once its libraries are there."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: CPU_S, resource.RLIMIT_FSIZE: MOST_ANSWERED}
    with suppress(OSError):  # only Linux says how much there is already
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + MEMORY_MB * 1_000_000
    for kind, most in limits.items():
        with suppress(OSError, ValueError):  # the system has no such limit, or a lower one holds already
            resource.setrlimit(kind, (most, most))
