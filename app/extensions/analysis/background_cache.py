"""A stale-while-revalidate cache for slow computations: the last result is shown at once and recomputed in the
background, one at a time.

Readers never wait. A result is recomputed when its data have changed (by its mark), but for each key at most every so
many seconds, however many readers and new events there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
EVERY_S = 30.0
MOST = 32


@dataclass(frozen=True, slots=True)
class CachedResult(Generic[Value]):
    value: Value | None
    as_of_us: int | None
    busy: bool


@dataclass
class _CacheEntry(Generic[Value]):
    value: Value | None = None
    mark: Any = None
    as_of_us: int | None = None
    begun_us: int | None = None
    future: Future[Value] | None = None
    next_mark: Any = None


class StaleWhileRevalidate(Generic[Key, Value]):
    """The latest results by key. `compute` makes a result; `mark` is a cheap fingerprint of its data."""

    def __init__(
        self,
        compute: Callable[[Key], Value],
        mark: Callable[[Key], Any],
        now_us: Callable[[], int],
        workers: Executor,
        every_s: float = EVERY_S,
    ) -> None:
        self._compute, self._mark, self._now_us, self._workers = compute, mark, now_us, workers
        self._every_us = round(every_s * 1e6)
        self._entries: dict[Key, _CacheEntry[Value]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> CachedResult[Value]:
        """Starts a computation if the result is missing or old; an exception of that is raised once."""
        mark = self._mark(key)
        with self._lock:
            kept = self._entries.pop(key, None) or _CacheEntry()
            self._entries[key] = kept
            self._forget()
            self._collect(kept)
            now_us = self._now_us()
            rested = kept.begun_us is None or now_us - kept.begun_us >= self._every_us
            stale = kept.as_of_us is None or kept.mark != mark
            if kept.future is None and stale and rested:
                kept.begun_us, kept.next_mark = now_us, mark
                kept.future = self._workers.submit(self._compute, key)
            return CachedResult(kept.value, kept.as_of_us, kept.future is not None)

    def _collect(self, entry: _CacheEntry[Value]) -> None:
        if entry.future is None or not entry.future.done():
            return
        done, entry.future = entry.future, None
        entry.value = done.result()
        entry.mark, entry.as_of_us = entry.next_mark, entry.begun_us

    def _forget(self) -> None:
        others = list(self._entries.items())[:-1]  # the last one is in use
        idle = [key for key, kept in others if kept.future is None or kept.future.done()]
        for key in idle[: max(0, len(self._entries) - MOST)]:
            del self._entries[key]
