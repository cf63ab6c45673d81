"""The sessions that a process has at hand, as they were last known to it, so that a click reads nothing."""

from __future__ import annotations

from cachetools import LRUCache

from app.session.transitions import LoadedSession

MOST = 2_000
"""So many sessions; some hundred objects each, which Python's garbage collector looks through."""


class SessionCache:
    """Sessions by their streams; the one that was asked for longest ago is the first to go."""

    def __init__(self, most: int = MOST) -> None:
        self._lives: LRUCache[str, LoadedSession] = LRUCache(most)

    def get(self, stream: str) -> LoadedSession | None:
        """What is known of a session here; None where nothing is."""
        return self._lives.get(stream)

    def put(self, live: LoadedSession) -> LoadedSession:
        """Keep a session; gives the newest that is known, as what was read before a write may arrive after it."""
        known = self._lives.get(live.stream)
        newest = known if known is not None and known.state.seq > live.state.seq else live
        self._lives[live.stream] = newest
        return newest

    def drop(self, stream: str) -> None:
        """Forget a session: the log knows better."""
        self._lives.pop(stream, None)
