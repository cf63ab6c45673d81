"""Other people's words on a terminal and in a log: what would command it, or turn a line round, is shown and does
nothing. Control characters get their pictures (␛), and what has none the sign for what cannot be shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PICTURES, UNSHOWN = 0x2400, "\ufffd"
KEPT = "\t\n"
WIDE = 1_000
_C0 = {code: chr(PICTURES + code) for code in range(0x20) if chr(code) not in KEPT}
_TURNS = "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_TABLE = _C0 | {0x7F: "\u2421"} | dict.fromkeys([*range(0x80, 0xA0), *map(ord, _TURNS)], UNSHOWN)
_LINE = _TABLE | {ord("\n"): chr(PICTURES + ord("\n"))}


def plain(text: str) -> str:
    """The text, without effect on a terminal; its lines stay."""
    return text.translate(_TABLE)


def one_line(text: str) -> str:
    return text.translate(_LINE)


class EscapingConsole(Console):
    """A console on which only its own styles are commands; a file or a program that reads it has its lines whole."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal and "width" not in options:
            self.width = WIDE

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)
