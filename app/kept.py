"""The sessions that a process has at hand, as they were last known to it, so that a click reads nothing."""

from __future__ import annotations

from collections import OrderedDict

from app.counting import Live

MOST = 5_000
MOST_ENDED = 200
"""Nobody clicks in a session that has ended: its page is looked at once more, and tells of itself. All that have
ended lately would be most of what is kept, and each some hundred objects more for Python to look through for garbage,
which held everybody up for 0.1 s every few seconds with 1,500 at once (docs/decisions/0007)."""


class Kept:
    """Sessions by their streams; the one that changed longest ago is the first to go."""

    def __init__(self) -> None:
        self._lives: OrderedDict[str, Live] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._lives)

    def get(self, stream: str) -> Live | None:
        """What is known of a session here; None where nothing is."""
        return self._lives.get(stream)

    def put(self, live: Live) -> Live:
        """Keep a session; gives the newest that is known, as what was read before a write may arrive after it."""
        stream = live.stream
        known = self._lives.get(stream)
        newest = known if known is not None and known.state.seq > live.state.seq else live
        self._lives[stream] = newest
        self._lives.move_to_end(stream)
        if newest.state.outcome:
            self._ended[stream] = None
            if len(self._ended) > MOST_ENDED:
                self.drop(next(iter(self._ended)))
        if len(self._lives) > MOST:
            self.drop(next(iter(self._lives)))
        return newest

    def drop(self, stream: str) -> None:
        """Forget a session: the log knows better."""
        self._lives.pop(stream, None)
        self._ended.pop(stream, None)
