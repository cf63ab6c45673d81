"""`{{name}}` in a study's texts. Substituting values is all that a template can do.

The braces are double because LaTeX uses single ones. Names are words joined by dots; validation reports unknown names
as errors before a study can start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from experiments.errors import suggestion

SLOT = re.compile(r"\{\{\s*([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\s*\}\}")

# What can be markup: signs, blanks at the begin of a line, and the dot of a numbered list.
_SIGN = re.compile(r"[!#$&()*+<=>\[\\\]^_`{|}~-]|(?<![^\n])[ \t]+|(?<=\d)\.(?=\s|$)")


def names(text: str) -> Iterator[str]:
    return (match.group(1) for match in SLOT.finditer(text))


def undefined(text: str, known: Collection[str]) -> Iterator[str]:
    return (f"{{{{{name}}}}} is not defined here{suggestion(name, known)}" for name in names(text) if name not in known)


def slot_errors(text: str, needed: Collection[str], more: Collection[str]) -> Iterator[str]:
    """Errors of a prompt that must contain the names `needed` and can contain `more`."""
    yield from undefined(text, (*needed, *more))
    absent = (name for name in needed if name not in set(names(text)))
    yield from (f"does not contain {{{{{name}}}}}, so the model would not see it" for name in absent)


def fill(text: str, value: Callable[[str], str]) -> str:
    """The text with each `{{name}}` replaced by `value(name)`."""
    return SLOT.sub(lambda match: value(match.group(1)), text) if "{{" in text else text


def as_written(text: str) -> str:
    """A text that Markdown shows as it is: signs as entities, line breaks as `<br>`."""
    return _SIGN.sub(lambda found: "".join(f"&#{ord(sign)};" for sign in found[0]), text.strip()).replace("\n", "<br>")
