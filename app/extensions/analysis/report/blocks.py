"""The blocks of a report, and how they are written as Markdown; user-supplied text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

SIGNS = re.compile(r"([\\`*_{}\[\]#|~$^])")
"""Characters with a special meaning in Markdown and its tables."""
FIRST = re.compile(r"^(?:[-+]|\d+[.)])(?= |$)|^=")
"""Line beginnings that would start a list or turn the previous line into a heading."""
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a level from 1; links reach it by its anchor, if it has one."""

    level: int
    text: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """A heading in the table of contents."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Contents:
    """A table of contents."""

    entries: tuple[ContentsEntry, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a loud one is a warning."""

    text: str
    loud: bool = False


@dataclass(frozen=True, slots=True)
class BulletList:
    """A list; an item may end with code."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code."""

    text: str


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table; the first `words` columns are text, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


Block: TypeAlias = Heading | Contents | Paragraph | BulletList | CodeLine | TextTable


def as_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(map(_written, blocks)) + "\n"


def escaped(text: str) -> str:
    """A text as one line of Markdown that shows just that."""
    line = SIGNS.sub(r"\\\1", " ".join(text.split()))
    line = FIRST.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)
    return "".join(HTML.get(sign, sign) for sign in line)


def _code(text: str) -> str:
    """A text as code, enclosed in more backticks than it contains in a row."""
    line = " ".join(text.split())
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _written(block: Block) -> str:
    match block:
        case Heading(level, text, anchor):
            return (f'<a id="{anchor}"></a>\n\n' if anchor else "") + f"{'#' * level} {escaped(text)}"
        case Contents(entries):
            return "\n".join(
                f"{'  ' * (entry.level - 1)}- [{escaped(entry.text)}](#{entry.anchor})" for entry in entries
            )
        case Paragraph(text, loud):
            return f"> **{escaped(text)}**" if loud else escaped(text)
        case BulletList(items):
            return "\n".join(f"- {escaped(text)}" + (f" {_code(code)}" if code else "") for text, code in items)
        case CodeLine(text):
            return f"    {' '.join(text.split())}"
        case TextTable():
            return _table(block)
        case _ as other:
            assert_never(other)


def _table(table: TextTable) -> str:
    sides = ["---" if number < table.words else "---:" for number in range(len(table.head))]
    lines = [[escaped(cell) for cell in table.head], sides, *([escaped(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
