"""Which memory is gathered in large pages."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path

import pytest

from app import large_pages as pages
from app.large_pages import LARGE, SMALL, full, large_pages, make_large

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where memory is, and makes it large")


@contextmanager
def memory(share: float) -> Iterator[int]:
    """Memory of its own of a large page's size, so much of it in use; where it begins."""
    with mmap(-1, 2 * LARGE, flags=MAP_PRIVATE | MAP_ANONYMOUS) as room:
        here = ctypes.addressof(ctypes.c_char.from_buffer(room))
        start = -(-here // LARGE) * LARGE
        for place in range(start - here, start - here + int(share * LARGE), SMALL):
            room[place] = 1
        yield start


def large_kb(start: int) -> int:
    """How much of the memory at an address is in large pages."""
    for part in re.split(r"\n(?=[0-9a-f]+-)", Path("/proc/self/smaps").read_text(encoding="utf-8")):
        begin, end = (int(place, 16) for place in part.split(" ", 1)[0].split("-"))
        if begin <= start < end:
            return int(re.search(r"AnonHugePages: +(\d+)", part)[1])  # type: ignore[index]
    raise AssertionError(hex(start))


@pytest.mark.parametrize(("share", "is_full"), [(1.0, True), (0.76, True), (0.74, False), (0.0, False)])
def test_only_what_is_nearly_full_is_worth_a_large_page(share: float, is_full: bool) -> None:
    with memory(share) as start:
        assert (start in set(full())) is is_full


def test_a_large_page_is_made_of_what_is_there() -> None:
    with memory(1.0) as start:
        before = ctypes.string_at(start, LARGE)
        try:
            made = make_large(start)
        except OSError:
            pytest.skip("this Linux makes no large pages where it is asked to: it is older than 6.1")
        assert ctypes.string_at(start, LARGE) == before
        assert (large_kb(start) > 0) is made


def test_nothing_is_made_large_that_is_no_memory() -> None:
    with pytest.raises(OSError, match=r"\d"):
        make_large(1)


def test_memory_is_gathered_as_it_fills_up_until_the_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(pages, "EACH_S", 0.01)
    monkeypatch.setattr(pages, "APART_S", 0.0)
    monkeypatch.setattr(pages, "make_large", lambda start: made.append(start) or True)
    with memory(1.0) as start:
        with large_pages():
            (thread,) = (one for one in threading.enumerate() if one.name == "parley-pages")
            give_up = time.monotonic() + 30
            while start not in made and time.monotonic() < give_up:
                time.sleep(0.01)
        thread.join(30)
        assert not thread.is_alive()
    assert made.count(start) == 1, "what is large is left alone"


def test_a_linux_that_makes_none_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(start: int) -> bool:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(pages, "EACH_S", 0.01)
    monkeypatch.setattr(pages, "make_large", refuse)
    with caplog.at_level("INFO", "app.large_pages"), memory(1.0), large_pages():
        (thread,) = (one for one in threading.enumerate() if one.name == "parley-pages")
        thread.join(30)
        assert not thread.is_alive()
    assert "the memory stays in small pages" in caplog.text
