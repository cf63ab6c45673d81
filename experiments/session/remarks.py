"""Researchers' remarks on a session, as events of its stream: notes, exclusions and inclusions.

    noted {text, who}      excluded {why, who}      included {why, who}

They change no participant's screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from experiments.errors import NotPossible
from experiments.events import Action, Event
from experiments.study.fields import Invalid, read_text

Kind = Literal["noted", "excluded", "included"]
MOST_CHARS = 2_000
RESUBMITTED = "came back with another submission"
TEXT: Mapping[Kind, str] = {"noted": "text", "excluded": "why", "included": "why"}


def remark(kind: Kind, text: str, who: str, at_us: int) -> Action:
    """The action for a note, or for an exclusion or inclusion with its reason, by the researcher `who`. Raises
    NotPossible if the text is empty or too long."""
    try:
        said = read_text(text, MOST_CHARS, required=True)
    except Invalid as error:
        if len(text) > MOST_CHARS:
            raise NotPossible(f"{len(text):,} characters are too many; at most {MOST_CHARS:,} are kept") from error
        missing = "write the note first" if kind == "noted" else "give a reason; readers of the data need it"
        raise NotPossible(f"nothing was saved: {missing}") from error
    return Action(kind, "", {TEXT[kind]: said, "who": who}, at_us, by="researcher")


def excluded(events: Iterable[Event]) -> str | None:
    """The reason why the session is excluded; None if it is not."""
    last = None
    for event in events:
        last = event if event.kind in ("excluded", "included") else last
    return str(last.data["why"]) if last is not None and last.kind == "excluded" else None


def refuse_repeated(events: Iterable[Event], kind: str) -> None:
    if kind not in ("excluded", "included"):
        return
    why = excluded(events)
    if kind == "excluded" and why is not None:
        raise NotPossible(f"the session is already excluded ({why}); to change the reason, include it again first")
    if kind == "included" and why is None:
        raise NotPossible("the session is not excluded, so there is nothing to undo")
