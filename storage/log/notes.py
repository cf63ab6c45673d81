"""What researchers say about a session: notes, and that it is excluded or included again, as facts of its stream.

    noted {text, who}      excluded {why, who}      included {why, who}

They change no participant's screen, so a server in another process goes on undisturbed: it notices by the number of the
fact and reads again. Nothing else is done to the session: what it owes is seen to by the server that it is with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from experiments.events import Action
from experiments.session.engine import decide, fold
from experiments.study.fields import Invalid, read_text
from storage.errors import Conflict, StorageError
from storage.log.event_log import Log
from storage.log.seat_projection import seat_changes, seat_of
from storage.log.write_requests import Append
from storage.registers.studies import Studies

Kind = Literal["noted", "excluded", "included"]
MOST_CHARS = 2_000
TRIES = 20
TEXT = {"noted": "text", "excluded": "why", "included": "why"}
"""Under which name a fact has its words."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be said: a note's text, or the reason; and who says it."""

    kind: Kind
    text: str
    who: str
    at_us: int


def note_on(log: Log, studies: Studies, stream: str, note: Note) -> None:
    """Write it down. Raises Refused for a session that withdrew, StorageError for what cannot be said."""
    words = _words(note)
    action = Action(note.kind, "", {TEXT[note.kind]: words, "who": note.who}, note.at_us, by="researcher")
    for _ in range(TRIES):
        state = fold(log.load(stream))
        if "hash" not in state.enrolled:
            raise StorageError(f"{stream}: it was imported, so nothing is written about it here; filter its export")
        study = studies.get(state.enrolled["hash"])
        events = decide(study, state, action)
        _refuse_twice(seat_of(study, state).excluded, note.kind)
        seat = seat_changes(study, state, fold(events, state))
        work = Append(stream, study.name, events, origin=state.enrolled["origin"], seat=seat)
        try:
            log.append(work).result()
        except Conflict:
            continue
        return
    raise StorageError(f"{stream}: other writers were first {TRIES} times; try again")


def _words(note: Note) -> str:
    """Its words as they are kept; a reason is always needed."""
    try:
        return read_text(note.text, MOST_CHARS, required=True)
    except Invalid as fault:
        if len(note.text) > MOST_CHARS:
            raise StorageError(
                f"{len(note.text):,} characters are too many; at most {MOST_CHARS:,} are kept"
            ) from fault
        wanted = "write the note first" if note.kind == "noted" else "say why: whoever reads the data later has to know"
        raise StorageError(f"nothing was written: {wanted}") from fault


def _refuse_twice(why: str | None, kind: Kind) -> None:
    """`why` is the reason for which it is excluded now, if it is."""
    if kind == "excluded" and why is not None:
        raise StorageError(f"it is excluded already ({why}); include it again first, to give another reason")
    if kind == "included" and why is None:
        raise StorageError("it is not excluded, so there is nothing to undo")
