"""The memory of a server in large pages, which a processor finds more quickly.

Linux maps memory by 4 KB at a time, and so many sessions are in so many pieces that the processor spends a
twentieth of its time looking for them. Python asks for pieces of 2 MB from 3.15 on, and Linux makes them by itself only
where it is told to for everybody; so they are made here, one at a time, as each holds everybody up for a millisecond.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SMALL, LARGE = 4 << 10, 2 << 20
FULL = 0.75
"""The share of a large page that has to be in use: what is not in use is taken as well."""
EACH_S = 10.0
"""So often it is looked what has filled up."""
APART_S = 0.05
COLLAPSE = 25
"""MADV_COLLAPSE, from Linux 6.1 on."""
_OWN = re.compile(r"^(\w+)-(\w+) rw-p 0+ 00:00 0 *(?:\[heap\])?$", re.MULTILINE)
_IN_USE = int.from_bytes((1 << 63).to_bytes(8, sys.byteorder) * (LARGE // SMALL), sys.byteorder)
"""The bit of each small page in Linux's account of a large one (Documentation/admin-guide/mm/pagemap.rst)."""

log = logging.getLogger(__name__)


@contextmanager
def large_pages() -> Iterator[None]:
    """Let what this process has in memory be gathered in large pages until the block ends, on Linux."""
    over = threading.Event()
    if sys.platform == "linux" and os.sysconf("SC_PAGE_SIZE") == SMALL:
        threading.Thread(target=_gather, args=(over,), name="parley-pages", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _gather(over: threading.Event) -> None:
    large: set[int] = set()
    try:
        while not over.wait(EACH_S):
            in_use = set(full())
            large &= in_use
            for start in sorted(in_use - large):
                if over.wait(APART_S):
                    return
                if make_large(start):
                    large.add(start)
    except OSError as error:
        log.info("the memory stays in small pages: %s", error)


def full() -> Iterator[int]:
    """Addresses at which large pages would be full, in memory of this process's own; raises OSError."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    with Path("/proc/self/pagemap").open("rb", buffering=0) as pages:
        for found in _OWN.finditer(maps):
            begin, end = (int(place, 16) for place in found.groups())
            for start in range(-(-begin // LARGE) * LARGE, end - LARGE + 1, LARGE):
                pages.seek(start // SMALL * 8)
                told = int.from_bytes(pages.read(LARGE // SMALL * 8), sys.byteorder)
                if (told & _IN_USE).bit_count() >= FULL * LARGE / SMALL:
                    yield start


def make_large(start: int) -> bool:
    """Make what is at an address a large page; False where it cannot be now. Raises OSError where it never can."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(LARGE), COLLAPSE) == 0:
        return True
    if (code := ctypes.get_errno()) == errno.EINVAL:
        raise OSError(code, os.strerror(code))
    return False
