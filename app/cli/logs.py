"""How logs look: one line a record, as text or as JSON, on standard error.

An exception is told by its kind and where it was raised. Its words are told only where it is one of ours and not a
model server's: others quote what somebody wrote.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from app.cli.plain import one_line
from app.errors import BackendError
from app.settings import Settings
from problems.errors import ParleyError

Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Text(logging.Formatter):
    """For people: time, level, where, what."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, whatever stands in it."""
        raised = f" Traceback: {_told(record.exc_info)}" if record.exc_info else ""
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{raised}"
        return one_line(line)


class Json(logging.Formatter):
    """For programs: an object with `time`, `level`, `logger`, `message`, and `raised` where something was."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        known = {"time": _time(record), "level": record.levelname, "logger": record.name}
        raised = {"raised": _told(record.exc_info)} if record.exc_info else {}
        return json.dumps({**known, "message": record.getMessage(), **raised}, ensure_ascii=False)


def set_up(settings: Settings) -> None:
    """Let everything in this process log so."""
    handler = logging.StreamHandler()
    handler.setFormatter(Json() if settings.log_format == "json" else Text())
    logging.basicConfig(level=settings.log_level, handlers=[handler])


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _told(raised: Raised) -> str:
    return "; because of ".join(_links(raised[1]))


def _links(error: BaseException | None) -> Iterator[str]:
    """An exception and what it came of, the newest first."""
    while error is not None:
        words = f": {error}" if isinstance(error, ParleyError) and not isinstance(error, BackendError) else ""
        frames = reversed(traceback.extract_tb(error.__traceback__))
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        yield f"{type(error).__name__}{words} at {where}"
        error = error.__cause__ or error.__context__
