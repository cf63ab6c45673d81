"""For how long the writer waits for more to write with the next commit: the fuller the processor, the longer.

A commit takes about 1 ms of the processor, few pieces or many, and takes it from who clicks. With 1,000 at once, who
fill nine tenths of a core, waiting 20 ms in place of 2 makes a quarter as many commits, and a request a tenth cheaper.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_S, MOST_S = 0.002, 0.02
FREE = 0.6
"""The share of a core up to which there is time to spare."""
EACH_S = 0.5
"""So often it is looked at."""


class Pace:
    """How full the processor is that this process has, and what follows."""

    def __init__(
        self, now_s: Callable[[], float] = time.monotonic, used_s: Callable[[], float] = time.process_time
    ) -> None:
        self._now_s, self._used_s = now_s, used_s
        self._at_s, self._used_at_s = now_s(), used_s()
        self._wait_s = LEAST_S

    def wait_s(self) -> float:
        """For how long to wait for more, between LEAST_S and MOST_S."""
        now_s = self._now_s()
        if (past_s := now_s - self._at_s) >= EACH_S:
            used_s = self._used_s()
            full = min(1.0, max(0.0, (used_s - self._used_at_s) / past_s - FREE) / (1 - FREE))
            self._wait_s = (1 - full) * LEAST_S + full * MOST_S
            self._at_s, self._used_at_s = now_s, used_s
        return self._wait_s
