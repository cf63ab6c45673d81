"""The format of logs: one line a record, as text or as JSON, on standard error, and none longer than some kB.

An exception is told by its kind and where it was raised. Its words are told only where it is one of ours and not a
model server's: others quote what somebody wrote.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from app.cli.safe_console import one_line
from app.config.settings import Settings
from app.errors import BackendError
from app.web.throttled_log import ThrottledFilter
from problems.errors import ParleyError

# Characters of a record's message, and of what it says was raised.
MOST = 1_000
# The loggers to which each connection or request of a stranger may give a line.
FLOODED = ("uvicorn.error", "app.cli.http_server", "app.web.participant.api")
_THROTTLED = ThrottledFilter()


class LineFormatter(logging.Formatter):
    """A record as one line: each of its parts is bounded, and has no control characters."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        parts = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": _bounded(record.name),
            "message": _bounded(_message(record)),
        }
        if record.exc_info:
            parts["raised"] = _bounded("; because of ".join(_links(record.exc_info[1])))
        if self._as_json:
            return json.dumps(parts, ensure_ascii=False)
        raised = f" Traceback: {parts['raised']}" if "raised" in parts else ""
        return f"{parts['time']} {parts['level']} {parts['logger']}: {parts['message']}{raised}"


def set_up(settings: Settings) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(as_json=settings.log_format == "json"))
    handler.addFilter(is_worth_a_line)
    logging.basicConfig(level=settings.log_level, handlers=[handler])
    logging.captureWarnings(True)
    for name in FLOODED:
        logging.getLogger(name).addFilter(_THROTTLED)
    logging.raiseExceptions = False  # or a record that fails is printed with all that it was to be made of


def is_worth_a_line(record: logging.LogRecord) -> bool:
    """False for a request that was cancelled, as those are that a server's end meets: nothing went wrong."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (LookupError, TypeError, ValueError):
        return f"{record.msg} (what belongs in there does not fit)"


def _bounded(text: str) -> str:
    """A text without its middle where it is too long, as its end may hold the reason."""
    left_out = len(text) - MOST
    whole = text if left_out <= 0 else f"{text[: MOST // 2]} [... {left_out:,} characters ...] {text[-MOST // 2 :]}"
    return one_line(whole).encode(errors="replace").decode()


def _links(error: BaseException | None) -> Iterator[str]:
    """An exception and its causes, the newest first."""
    while error is not None:
        words = f": {error}" if isinstance(error, ParleyError) and not isinstance(error, BackendError) else ""
        frames = reversed(traceback.extract_tb(error.__traceback__))
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        yield f"{type(error).__name__}{words} at {where}"
        error = error.__cause__ or error.__context__
