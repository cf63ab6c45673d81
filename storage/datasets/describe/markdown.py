"""Markdown building blocks of the dataset card and the codebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """A text as inline code."""
    fence = "``" if "`" in text else "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    cells = [list(head), ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def quote(text: str) -> str:
    """A block quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def join(*parts: str) -> str:
    """Join paragraphs; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def count(number: int, singular: str, plural: str = "") -> str:
    """A number of things: `1 row`, `2 rows`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
