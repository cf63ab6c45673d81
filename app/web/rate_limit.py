"""How often somebody may ask: so many times at once, and so many a second after that.

One number a name: when all that was taken will have come back (GCRA, ITU-T I.371). The library `limits` keeps a list of
times and looks through everybody's in a thread of its own every 10 ms, which was an eighth of a loaded server's work.
"""

from __future__ import annotations

FEWEST = 1_000


class GcraLimiter:
    """What each name may still take."""

    def __init__(self, rate: float, burst: int) -> None:
        self._each_s = 1 / rate
        self._most_s = burst / rate
        self._whole_s: dict[str, float] = {}
        self._full = FEWEST

    def __len__(self) -> int:
        """How many names are kept."""
        return len(self._whole_s)

    def allow(self, name: str, now_s: float) -> bool:
        """Take one; False, and nothing is taken, where there is none."""
        whole_s = max(self._whole_s.get(name, now_s), now_s) + self._each_s
        if whole_s - now_s > self._most_s + 1e-9:
            return False
        self._whole_s[name] = whole_s
        if len(self._whole_s) > self._full:
            self._forget(now_s)
        return True

    def refund(self, name: str) -> None:
        """One that was taken was not used."""
        if name in self._whole_s:
            self._whole_s[name] -= self._each_s

    def _forget(self, now_s: float) -> None:
        """Whoever may take everything again is as good as unknown."""
        self._whole_s = {name: whole_s for name, whole_s in self._whole_s.items() if whole_s > now_s}
        self._full = max(FEWEST, 2 * len(self._whole_s))
