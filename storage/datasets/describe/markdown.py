"""Markdown building blocks, and the templates (`*.md.j2`) of the dataset card and the codebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.plural import count


def code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str | int]], coded: int = 0) -> str:
    """A table; the first `coded` cells of each row are inline code, and numbers have separators."""
    cells = [head, ["---"] * len(head), *([_cell(cell, n < coded) for n, cell in enumerate(row)] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _cell(cell: str | int, coded: bool) -> str:
    text = f"{cell:,}" if isinstance(cell, int) else cell
    return (code(text) if coded else text).replace("|", "\\|").replace("\n", " ")


def quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def join(*parts: str) -> str:
    """Join paragraphs; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def rendered(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(f"{template}.md.j2").render(values).strip("\n") + "\n"


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701  (Markdown)
)
_TEMPLATES.globals |= {"code": code, "table": table, "quote": quote, "bullets": bullets, "count": count}
_TEMPLATES.filters["codes"] = lambda texts: ", ".join(map(code, texts))
