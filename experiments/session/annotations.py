"""Annotations of a session's conversations, read from its events. Of several by one annotator the newest counts.

    annotated {annotator, model, values, run, cell, path, slot}    about a conversation at a path; "" is the session
    annotated {annotator, model, values, run, cell, of}            about an imported one: the number of its `recorded`

The event itself has an empty path, so that no screen and no condition can depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from experiments.events import Action, Data, Event

ANNOTATED = "annotated"


class ConversationRef(NamedTuple):
    """Identifies a conversation of a stream: by path and slot, or by the number of an imported row (`of`)."""

    path: str = ""
    slot: str = ""
    of: int = 0


@dataclass(frozen=True, slots=True)
class Annotation:
    about: ConversationRef
    annotator: str
    model: str
    values: Mapping[str, Any]
    run: str
    cell: str

    @property
    def key(self) -> str:
        """The idempotency key: the annotation becomes one event, however often it is written."""
        return sha256(orjson.dumps([ANNOTATED, self.annotator, self.cell, *self.about])).hexdigest()

    @property
    def data(self) -> dict[str, Any]:
        own = {"annotator": self.annotator, "model": self.model, "values": dict(self.values)}
        return {**own, "run": self.run, "cell": self.cell, **location_of(self.about)}

    def action(self, at_us: int) -> Action:
        return Action("annotate", "", self.data, at_us, by="model", key=self.key)


def conversation_ref(data: Data) -> ConversationRef:
    return ConversationRef(str(data.get("path", "")), str(data.get("slot", "")), int(data.get("of", 0)))


def location_of(ref: ConversationRef) -> dict[str, Any]:
    """A conversation as the data of an annotation name it; the inverse of `conversation_ref`."""
    return {"of": ref.of} if ref.of else {"path": ref.path, **({"slot": ref.slot} if ref.slot else {})}


def latest_annotations(events: Iterable[Event], model: str | None = None) -> dict[tuple[str, ConversationRef], Event]:
    """The newest annotation by each annotator of each conversation; only those by `model`, if given."""
    annotations = (
        event for event in events if event.kind == ANNOTATED and (model is None or _is_of(event.data, model))
    )
    return {(str(event.data["annotator"]), conversation_ref(event.data)): event for event in annotations}


def _is_of(data: Data, model: str) -> bool:
    """True if an annotation is by this model. One that needed no model (model "") counts for each."""
    return data["model"] in (model, "")


def values(events: Iterable[Event], ref: ConversationRef) -> dict[str, Mapping[str, Any]]:
    return {name: event.data["values"] for (name, other), event in latest_annotations(events).items() if other == ref}
