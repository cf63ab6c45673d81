"""One hostile text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PWN = "window.__pwned=1"
EVIL = "evil.example"


@dataclass(frozen=True, slots=True)
class Payload:
    """A text, of what kind it is, and what it would do if it were more than text."""

    kind: str
    name: str
    text: str
    would: str


def of(kind: str, would: str, texts: Mapping[str, str]) -> tuple[Payload, ...]:
    return tuple(Payload(kind, f"{kind}: {name}", text, would) for name, text in texts.items())
