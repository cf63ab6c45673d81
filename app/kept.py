"""The sessions that a process has at hand, as they were last known to it, so that a click reads nothing."""

from __future__ import annotations

from collections import OrderedDict

from app.counting import Live

MOST = 5_000
MOST_ENDED = 200
"""Nobody clicks in a session that has ended: its page is looked at once more, and tells of itself. All that have
ended lately would be most of what is kept, and each some hundred objects more for Python to look through for garbage,
which held everybody up for 0.1 s every few seconds with 1,500 at once (docs/decisions/0007)."""
MOST_NEW = 1_000
NEW_US = 2_000_000
"""For how long a session is as it was begun, until its page first asks for it. To look that up took 3 % of the
processor, most of it for the way to a thread and back."""


class Kept:
    """Sessions by their streams; the one that changed longest ago is the first to go."""

    def __init__(self) -> None:
        self._lives: OrderedDict[str, Live] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._new: OrderedDict[str, int] = OrderedDict()

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

    def begin(self, live: Live, now_us: int) -> Live:
        """Keep a session that was begun here just now."""
        self._new[live.stream] = now_us
        if len(self._new) > MOST_NEW:
            self._new.popitem(last=False)
        return self.put(live)

    def is_new(self, stream: str, now_us: int) -> bool:
        """Whether a session was begun here a moment ago and is asked for the first time."""
        begun_us = self._new.pop(stream, None)
        return begun_us is not None and now_us - begun_us < NEW_US

    def drop(self, stream: str) -> None:
        """Forget a session: the log knows better."""
        self._lives.pop(stream, None)
        self._ended.pop(stream, None)
