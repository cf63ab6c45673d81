"""The LRU cache of loaded sessions of a process, so that a request reads nothing from the database."""

from __future__ import annotations

from cachetools import LRUCache

from app.session.transitions import LoadedSession

MOST = 2_000
"""The size of the cache in sessions. Each is some hundred objects, which Python's garbage collector has to scan."""


class SessionCache:
    def __init__(self, most: int = MOST) -> None:
        self._lives: LRUCache[str, LoadedSession] = LRUCache(most)

    def get(self, stream: str) -> LoadedSession | None:
        return self._lives.get(stream)

    def put(self, session: LoadedSession) -> LoadedSession:
        """Cache a session and return the newest version: one that was read before a write may be put after it."""
        known = self._lives.get(session.stream)
        newest = known if known is not None and known.state.seq > session.state.seq else session
        self._lives[session.stream] = newest
        return newest

    def drop(self, stream: str) -> None:
        """Remove a session whose log has newer events."""
        self._lives.pop(stream, None)
