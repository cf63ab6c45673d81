"""Long work that a tab starts: it runs in a thread of the console, for each study one at a time.

What it would do and cost is planned and shown first; who confirms starts just that, once. Who loads the page again, or
comes later, sees how far it is, and then its result or its error, until it is dismissed, the same work is started again
or the console stops. What was stored by then is kept, and the same work goes on from there.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from app.clock import Clock
from app.errors import NotAllowed, SettingsError
from app.use_cases.tables import ShownTable, tables
from app.web.console.current_user import CurrentUser
from app.web.console.downloads import Link
from experiments.errors import NotPossible
from problems.errors import ParleyError

log = logging.getLogger(__name__)
AT_ONCE = 4
BROKEN = "It failed; the console's log has the cause. What was stored by then is kept."
BUSY = "{} is under way. Wait until it has ended, or stop it."
UNSEEN = "Show what it takes first: what is in the form is not what was shown, or it was started already."


@dataclass(slots=True, eq=False)
class Work:
    """Work on a study, or a user's `own`; `about` says what it does, in words."""

    kind: str
    study: str
    about: str
    by: str
    began_us: int
    done: int = 0
    total: int = 0
    words: str = ""
    stopping: bool = False
    made: Link | None = None
    """A file that came of it."""
    task: Future[Any] = field(default_factory=Future)

    def tell(self, done: int, total: int, words: str) -> None:
        self.done, self.total, self.words = done, total, words

    def tell_whole(self, done: int, total: int, of: str) -> None:
        """Say how far it is, in `of`, of what is done whole or not at all; raises NotPossible if it is to stop."""
        self.tell(done, total, of)
        if self.stopping:
            raise NotPossible(f"Stopped after {done:,}{f' of {total:,}' if total else ''} {of}.")

    def stopped(self) -> bool:
        return self.stopping

    @property
    def running(self) -> bool:
        return not self.task.done()

    @property
    def fault(self) -> str:
        error = None if self.running else self.task.exception()
        return str(error) if isinstance(error, ParleyError) else BROKEN if error else ""

    @property
    def result(self) -> Sequence[ShownTable]:
        found = None if self.running or self.fault else self.task.result()
        return () if found is None else tuple(tables(found))


def own(user: CurrentUser) -> str:
    """The name in place of a study for work that is on none, of which each user has their own."""
    return f"@{user.name}"


@dataclass(frozen=True, slots=True)
class Planned:
    kind: str
    study: str
    about: str
    do: Callable[[Work], Any]


class LongWork:
    """The console's work on each study, of the same work the last, and what each user was shown last."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, "parley-work")
        self._works: dict[tuple[str, str], Work] = {}
        self._planned: dict[str, tuple[str, Planned]] = {}

    def show(self, user: CurrentUser, planned: Planned) -> str:
        """Store the plan shown to a user, in place of an earlier one; returns the token that starts it."""
        token = secrets.token_hex(8)
        self._planned[user.name] = token, planned
        return token

    def confirm(self, user: CurrentUser, token: str) -> Work:
        """Start the plan shown with this token; raises SettingsError if there is none, or it was started already."""
        known, planned = self._planned.get(user.name, ("", None))
        if planned is None or token != known:
            raise SettingsError(UNSEEN)
        work = self.start(user, planned)
        del self._planned[user.name]
        return work

    def start(self, user: CurrentUser, planned: Planned) -> Work:
        """Raises NotAllowed while other work on the study is under way."""
        with self._lock:
            if busy := next((work for work in self.of(planned.study) if work.running), None):
                raise NotAllowed(BUSY.format(busy.about))
            work = Work(planned.kind, planned.study, planned.about, user.name, self._clock.now_us())
            work.task = self._pool.submit(planned.do, work)
            work.task.add_done_callback(_log_failure)
            self._works[planned.study, planned.about] = work
        return work

    def of(self, study: str, kinds: Collection[str] = ()) -> list[Work]:
        """The work on a study, the newest first."""
        found = [one for one in list(self._works.values()) if one.study == study and (not kinds or one.kind in kinds)]
        return sorted(found, key=lambda work: -work.began_us)

    def stop(self, study: str, kinds: Collection[str]) -> None:
        for work in self.of(study, kinds):
            work.stopping = True

    def dismiss(self, study: str, kinds: Collection[str]) -> None:
        with self._lock:
            for work in self.of(study, kinds):
                if not work.running:
                    del self._works[study, work.about]

    def close(self) -> None:
        for work in self._works.values():
            work.stopping = True
        self._pool.shutdown(cancel_futures=True)


def _log_failure(task: Future[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ParleyError):
        log.error("long work failed", exc_info=error)
