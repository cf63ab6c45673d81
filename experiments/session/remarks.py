"""What researchers say of a session and do at the live desk (`help_desk`), as events of its stream.

    noted {text, who}      excluded {why, who}      included {why, who}

Of these, only `finished` changes a participant's screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from experiments.errors import NotPossible
from experiments.events import GIVEN, Action, Event
from experiments.study.fields import Invalid, read_text

Kind = Literal["noted", "excluded", "included", "helped", "time_given", "finished"]
MOST_CHARS = 2_000
MOST_MINUTES = 1_440
RESUBMITTED = "came back with another submission"
TEXT: Mapping[Kind, str] = {"noted": "text", "helped": "text", "excluded": "why", "included": "why"}
TEXT = {**TEXT, "time_given": "seconds", "finished": "outcome"}


def remark(kind: Kind, text: str, who: str, at_us: int) -> Action:
    """The action of the researcher `who`: `text` is a note, a reason, an answer, a number of minutes or an outcome.
    Raises NotPossible if it is empty, too long or no such number."""
    try:
        said = read_text(text, MOST_CHARS, required=True)
    except Invalid as error:
        if len(text) > MOST_CHARS:
            raise NotPossible(f"{len(text):,} characters are too many; at most {MOST_CHARS:,} are kept") from error
        missing = "give a reason; readers of the data need it" if TEXT[kind] == "why" else "write or choose it first"
        raise NotPossible(f"nothing was saved: {missing}") from error
    value = _seconds(said) if kind == GIVEN else said
    return Action(kind, "", {TEXT[kind]: value, "who": who}, at_us, by="researcher")


def _seconds(minutes: str) -> int:
    if not (minutes.isascii() and minutes.isdecimal() and 1 <= int(minutes) <= MOST_MINUTES):
        raise NotPossible(f"{minutes!r} is no number of minutes; allowed: whole numbers from 1 to {MOST_MINUTES:,}")
    return 60 * int(minutes)


def excluded(events: Iterable[Event]) -> str | None:
    """The reason why the session is excluded; None if it is not."""
    last = exclusion(events)
    return str(last.data["why"]) if last is not None else None


def exclusion(events: Iterable[Event]) -> Event | None:
    last = None
    for event in events:
        last = event if event.kind in ("excluded", "included") else last
    return last if last is not None and last.kind == "excluded" else None


def refuse_repeated(events: Iterable[Event], kind: str) -> None:
    if kind not in ("excluded", "included"):
        return
    why = excluded(events)
    if kind == "excluded" and why is not None:
        raise NotPossible(f"the session is already excluded ({why}); to change the reason, include it again first")
    if kind == "included" and why is None:
        raise NotPossible("the session is not excluded, so there is nothing to undo")
