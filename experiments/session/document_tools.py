"""Tools of a model for a document, `read` and `replace`, as the engine carries them out. Pure. A call is decided on the
newest text when its result is written, and an error says what the model can do next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from experiments.session.document import Document, Splice
from experiments.study.texts import lazy
from problems.text import clean

READ, REPLACE = "read", "replace"
_TEXT = {"type": "string"}
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": READ,
        "description": "Read the document that the user works on, with its version.",
        "schema": {"type": "object", "properties": {}},
    },
    {
        "name": REPLACE,
        "description": "Change the document that the user works on: replace a passage by another text. `old` is the "
        "passage exactly as it stands there, once; to add something, repeat what stands beside it. It is empty only "
        "for an empty document. `version` is that of the last reading or change.",
        "schema": {
            "type": "object",
            "properties": {"version": {"type": "integer"}, "old": _TEXT, "new": _TEXT},
            "required": ["version", "old", "new"],
        },
    },
)
NAMES = tuple(tool["name"] for tool in TOOLS)
# What participants read of a call.
LABELS = {READ: lazy("Read the document"), REPLACE: lazy("Change the document")}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failed` says why there is no change: `invalid`, `not_found`, `found_twice`, `version_conflict`, `too_long`."""

    text: str
    change: Splice | None = None
    failed: str = ""

    @property
    def as_data(self) -> dict[str, str]:
        return {"text": self.text, **({"failed": self.failed} if self.failed else {})}


def carry_out(document: Document, tool: str, arguments: str, most_chars: int) -> Outcome:
    """The outcome of a call; a text may have at most so many characters."""
    if tool == READ:
        text = f"Version {document.version}:\n\n{document.text}" if document.text else "The document is empty."
        return Outcome(text)
    given = json.loads(arguments or "{}")
    old, new, version = (given.get(name) for name in ("old", "new", "version"))
    if not isinstance(old, str) or not isinstance(new, str) or not isinstance(version, int | None):
        return Outcome("`old` and `new` must be texts, and `version` a whole number.", failed="invalid")
    if not old and document.text:
        return Outcome("`old` is empty, and the document is not. Give the passage to replace.", failed="invalid")
    return _replaced(document, clean(old), clean(new), version, most_chars)


def _replaced(document: Document, old: str, new: str, version: int | None, most_chars: int) -> Outcome:
    first = document.text.find(old)
    again = document.text.find(old, first + 1)
    if (first < 0 or again >= 0) and version not in (None, document.version):
        newest = f"the document is at version {document.version}, and `old` is not there exactly once. Read it again."
        return Outcome(f"Version {version} is not the newest: {newest}", failed="version_conflict")
    if first < 0:
        return Outcome("`old` is not in the document. Read it, and copy the passage exactly.", failed="not_found")
    if again >= 0:
        return Outcome("`old` is in the document more than once. Give a longer passage.", failed="found_twice")
    change = Splice(first, old, new)
    if (chars := len(document.text) + change.growth) > most_chars:
        return Outcome(f"The document may have {most_chars} characters, and would have {chars}.", failed="too_long")
    if old == new:
        return Outcome("`old` and `new` are the same.", failed="invalid")
    return Outcome(f"Done. The document is now at version {document.version + 1}.", change)
