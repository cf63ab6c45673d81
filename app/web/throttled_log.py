"""Warnings about misconfigured deployments and attacks, at most one a minute each, so that none floods the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

EVERY_S = 60.0
ELSEWHERE = (
    "refused (403): a page at %.100s sent a request to %.100s; it is another site, a proxy does not pass Host on, "
    "or PARLEY_PUBLIC_URL has another scheme"
)
TOO_MANY = (
    "refused (429): more requests came from one address than PARLEY_ADDRESS_RATE_MULTIPLIER allows; "
    "if it is a proxy's, name it in PARLEY_TRUSTED_PROXIES"
)
MANY_NEW = (
    "refused (429): more sessions started from one address within an hour than "
    "PARLEY_SESSIONS_PER_ADDRESS_PER_HOUR allows; raise it for a class behind one address; if it is a proxy's, "
    "name it in PARLEY_TRUSTED_PROXIES"
)
MANY_FORGED = "refused (429): many links with a wrong signature came from one address; somebody may be trying ids"
LINK_PROBLEM = "%s: a link's id was not taken (%s, parameter %s): %s; `parley show status %s` counts such links"
NOT_SECURE = (
    "participants use https, and PARLEY_PUBLIC_URL does not: cookies are not Secure, and links may lead elsewhere"
)


class ThrottledWarning:
    """A warning that is logged at most once a minute."""

    def __init__(self, words: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._words = words
        self._now_s = now_s
        self._next_s = float("-inf")
        self._untold = 0

    def warn(self, *values: str | None) -> None:
        """Log the warning with these values and the number of times it was suppressed, unless it is suppressed now."""
        if (words := self.due()) is not None:
            log.warning(words, *values)

    def due(self) -> str | None:
        """The words with the number of times they were suppressed; None, and counted, if they are suppressed now."""
        now_s = self._now_s()
        if now_s < self._next_s:
            self._untold += 1
            return None
        more = f" ({self._untold:,} times more before)" if self._untold else ""
        self._next_s, self._untold = now_s + EVERY_S, 0
        return self._words + more


class ThrottledFilter(logging.Filter):
    """Lets each message of a logger through at most once a minute, errors always: anybody can cause the others."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._known: dict[str, ThrottledWarning] = {}
        self._now_s = now_s

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True to log the record; it then says how many were not."""
        if record.levelno >= logging.ERROR:
            return True
        words = self._known.setdefault(record.msg, ThrottledWarning(record.msg, self._now_s)).due()
        record.msg = words or record.msg
        return words is not None
