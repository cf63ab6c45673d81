"""`{{name}}` in a study's texts: the only thing a text can do is to name a value.

Double braces, because LaTeX is full of single ones. Names are words joined by dots; an unknown name is an error of the
study's author, found by the checker before anybody takes part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

SLOT = re.compile(r"\{\{\s*([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\s*\}\}")


def names(text: str) -> Iterator[str]:
    """The names that a text refers to."""
    return (match.group(1) for match in SLOT.finditer(text))


def fill(text: str, value: Callable[[str], str]) -> str:
    """The text with each `{{name}}` replaced by `value(name)`."""
    return SLOT.sub(lambda match: value(match.group(1)), text) if "{{" in text else text
