"""What a page may tell of itself beside the answers: times and counts, and never a word.

A record holds the names of a place and of boxes, and numbers; so nothing that anybody wrote or copied can be in one. It
is kept only where the study asks for it, after the consent that discloses it was given, and only if its names are
those of screens and boxes that the session has come to. Telemetry is no fact: nothing is ever decided by it.

The records of one screen add up: each tells of the time since the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from experiments.session.state import Location, State, current_location, visited
from experiments.study.base_model import Name, StrictModel
from experiments.study.resolve import Study
from experiments.study.step import Step

DISCLOSED = (
    "While you take part, this page also records how long each page is shown and how long you read and type on it, how "
    "many keys you press and options you choose, when you leave the page, become inactive or come back, and when you "
    "copy or paste text and how long that text is. It does not record the text that you copy or paste, which keys you "
    "press, or anything outside this page."
)
DISCLOSED_WITHOUT_PASTING = (
    "While you take part, this page also records how long each page is shown and how long you read and type on it, how "
    "many keys you press and options you choose, when you leave the page, become inactive or come back, and when you "
    "copy text and how long that text is. It does not record the text that you copy, which keys you press, or anything "
    "outside this page."
)
DAY_MS = 24 * 3600 * 1000
MOST_MS = 30 * DAY_MS
MOST = 1_000_000

Ms = Annotated[int, Field(strict=True, ge=0, le=MOST_MS)]
Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]


class TelemetryRecord(StrictModel):
    """What all records have: the place that they are about, and how long ago it was when they were sent."""

    kind: str
    path: Annotated[str, Field(max_length=500)]
    ago_ms: Annotated[int, Field(strict=True, ge=-MOST_MS, le=MOST_MS)]

    @property
    def boxes(self) -> tuple[str, ...]:
        """The boxes that it names."""
        return ()

    def at_us(self, now_us: int) -> int:
        """When it was, by the server's clock: a page's own is not believed."""
        return now_us - min(max(self.ago_ms, 0), DAY_MS) * 1000

    def row(self, now_us: int) -> dict[str, Any]:
        """It as it is stored."""
        data = self.model_dump(exclude={"kind", "path", "ago_ms"}, exclude_none=True, by_alias=True)
        return {"path": self.path, "at_us": self.at_us(now_us), "kind": self.kind, "data": data}


class ScreenVisitRecord(TelemetryRecord):
    """A screen, or a part of the time that it was shown."""

    kind: Literal["screen"]
    seen: Count
    """The number of the last fact that had changed the screen."""
    shown_ms: Ms
    """How long it was shown."""
    visible_ms: Ms
    """How long of that the page was visible and had the focus."""
    reading_ms: Ms
    """How long of that nothing had been typed or chosen yet."""
    typing_ms: Ms
    """The gaps between two keys, of those under 2 seconds."""
    first_key_ms: Ms | None = None
    """When the first key was pressed in a box; None if none was."""
    keys: Annotated[dict[Name, Count], Field(max_length=100)] = {}
    """How many keys were pressed, by the box of free text."""
    choices: Count = 0
    """How often an option was chosen, a box ticked or a handle moved."""

    @property
    def boxes(self) -> tuple[str, ...]:
        """Those in which keys were pressed."""
        return tuple(self.keys)


class PageHidden(TelemetryRecord):
    """The page was hidden, or lost the focus."""

    kind: Literal["left"]


class PageReturned(TelemetryRecord):
    """It was returned to."""

    kind: Literal["came_back"]
    away_ms: Ms


class Pasted(TelemetryRecord):
    """Something was pasted or dropped into a box, or would have been were it not blocked."""

    kind: Literal["pasted"]
    box: Name
    chars: Count
    blocked: Annotated[bool, Field(strict=True)]

    @property
    def boxes(self) -> tuple[str, ...]:
        """The one."""
        return (self.box,)


class Copied(TelemetryRecord):
    """Something was copied or cut."""

    kind: Literal["copied"]
    chars: Count
    from_: Annotated[Literal["problem", "conversation", "page"], Field(alias="from")]


class Idle(TelemetryRecord):
    """Nobody had stirred for so long that the page asked whether somebody is there."""

    kind: Literal["idle"]
    after_ms: Ms


class PresenceRecord(TelemetryRecord):
    """Somebody was."""

    kind: Literal["here"]


AnyRecord = Annotated[
    ScreenVisitRecord | PageHidden | PageReturned | Pasted | Copied | Idle | PresenceRecord, Field(discriminator="kind")
]


def records_telemetry(study: Study, state: State) -> bool:
    """Whether telemetry of a session may be kept now: the study says so, and its consent was given."""
    if not study.file.telemetry or state.outcome == "withdrawn":
        return False
    agreed = (path for path, facts in state.facts.items() for fact in facts if fact.data.get("agreed") is True)
    return any(step.step == "consent" and path == without_indices(at) for at in agreed for path, step in study.steps)


def kept(study: Study, state: State, told: Sequence[TelemetryRecord]) -> tuple[TelemetryRecord, ...]:
    """Those of a page's records that may be kept: about screens that the session has come to, and boxes there."""
    if not records_telemetry(study, state):
        return ()
    present = current_location(study, state)
    places = {present.path: present} if present else {}
    if any(record.path not in places for record in told):
        places |= {place.path: place for place in visited(study, state)}
    return tuple(record for record in told if _is_known(record, places.get(record.path)))


def _is_known(record: TelemetryRecord, place: Location | None) -> bool:
    if place is None or not isinstance(place.node, Step):
        return False
    names = {box.name for box in place.node.boxes(place.node.fields(place))} if record.boxes else set()
    return names.issuperset(record.boxes)


def disclosure(study: Study) -> str:
    """What a consent tells of it; empty if nothing is recorded. Pasting is told of only where some box records it."""
    if not study.file.telemetry:
        return ""
    boxes = [box for _, step in study.steps for box in step.boxes(step.questions_asked())]
    told = any((box.paste or study.file.paste) != "allow" for box in boxes)
    return DISCLOSED if told else DISCLOSED_WITHOUT_PASTING


@lru_cache(maxsize=10_000)
def without_indices(path: str) -> str:
    """A path without the numbers of turns, the same for each: `question[*]/answer`."""
    return re.sub(r"\[\d+\]", "[*]", path)
