"""The blocks of a document: headings, paragraphs, lists and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
