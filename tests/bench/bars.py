"""A bench's measures, as a table for docs/benchmarks.md, and the check of its bars."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path


def told(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], missed: Sequence[str] = ()) -> int:
    """Print it; 1 where a bar is missed."""
    print(f"\n{title}: {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}\n")
    for cells in (header, ("---",) * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print(f"\nBars missed: {', '.join(missed)}" if missed else "\nAll bars are kept", flush=True)
    return int(bool(missed))


def peak_mb(pid: int | str = "self") -> float:
    """The most memory that a process had; Linux's own word, as ru_maxrss begins with what the parent had."""
    return _status_mb(pid, "VmHWM:")


def resident_mb(pid: int) -> float:
    """The memory that a process has now."""
    return _status_mb(pid, "VmRSS:")


def _status_mb(pid: int | str, what: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition(what)[2].split()[0]) / 1024
