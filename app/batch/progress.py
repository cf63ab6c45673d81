"""The progress of a run, counted for the display and the summary."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

from app.batch.model_queue import ModelQueue
from app.batch.pending import ModelKey
from app.batch.plan import RunProgress, RunResult

LATE_S = 20.0


class ProgressCounter:
    """The counts of one run; samples here, calls in the lanes."""

    def __init__(
        self, samples: int, stored: int, lanes: Mapping[ModelKey, ModelQueue], tell: Callable[[RunProgress], None]
    ) -> None:
        self._samples, self._reused, self._lanes, self._tell = samples, stored, lanes, tell
        self._asked = self._failed = self._refused = 0
        self._began_s = time.monotonic()
        self._late = deque([(self._began_s, 0, 0)])
        """When, how many replies, and how many samples were over."""

    def completed(self, *, reused: bool) -> None:
        """A sample is complete; `reused` if all of it was there before."""
        if reused:
            self._reused += 1
        else:
            self._asked += 1

    def gave_up(self, *, refused: bool) -> None:
        """A sample ended without a reply: the model refused, or a call failed."""
        if refused:
            self._refused += 1
        else:
            self._failed += 1

    def report(self) -> None:
        self._tell(self.progress())

    def progress(self) -> RunProgress:
        lanes = self._lanes.values()
        replies = sum(lane.replies + lane.refused for lane in lanes)
        over = self._asked + self._failed + self._refused
        rate, samples_a_second = self._rates(replies, over)
        left = self._samples - self._reused - over
        return RunProgress(
            samples=self._samples,
            done=self._reused + self._asked + self._refused,
            reused=self._reused,
            failed=self._failed,
            refused=self._refused,
            calls=sum(lane.requests for lane in lanes),
            rate=rate,
            tokens=sum(lane.prompt_tokens + lane.completion_tokens for lane in lanes),
            cost=sum(lane.cost for lane in lanes),
            seconds_left=left / samples_a_second if samples_a_second else 0.0 if not left else None,
        )

    def _rates(self, replies: int, over: int) -> tuple[float, float]:
        """Replies and samples a second, of late."""
        now_s = time.monotonic()
        while len(self._late) > 1 and self._late[1][0] < now_s - LATE_S:
            self._late.popleft()
        then_s, replies_then, over_then = self._late[0]
        self._late.append((now_s, replies, over))
        took_s = max(now_s - then_s, 1e-3)
        return (replies - replies_then) / took_s, (over - over_then) / took_s

    def ended(self, run: str, why: str) -> RunResult:
        """The end of the run, which is reported too."""
        progress = self.progress()
        self._tell(progress)
        used = tuple(lane.used() for lane in self._lanes.values())
        return RunResult(
            run=run,
            why=why,
            asked=sum(one.replies + one.refused for one in used),
            reused=self._reused,
            failed=self._failed,
            refused=self._refused,
            cost=progress.cost,
            seconds=time.monotonic() - self._began_s,
            progress=progress,
            models=used,
        )
