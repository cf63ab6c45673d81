"""Texts with values in them: `{{name}}` in a study's texts, and Parley's own messages.

Substituting values is all that a template can do. The braces are double because LaTeX uses single ones. Names are words
joined by dots; validation reports unknown names as errors before a study can start.

Parley's own messages are English in the code, and translated only when they are shown: a `LazyString` is the English
text and keeps the pattern and the values that it was made from. A front end with a catalogue translates the pattern,
and all other code uses it as an ordinary text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from experiments.errors import suggestion


class LazyString(str):
    """An English text with the pattern and the values that it was made from."""

    pattern: str
    values: Mapping[str, object]

    def __new__(cls, pattern: str, values: Mapping[str, object]) -> LazyString:
        said = super().__new__(cls, pattern.format(**values))
        said.pattern, said.values = pattern, values
        return said

    def __reduce__(self) -> tuple[type[LazyString], tuple[str, Mapping[str, object]]]:
        return LazyString, (self.pattern, self.values)


def lazy(pattern: str, **values: object) -> LazyString:
    """A message with values: `lazy("{count} are left", count=3)`."""
    return LazyString(pattern, values)


def translated(text: str, catalogue: Mapping[str, str]) -> str:
    """The translation of a text, looked up by its English pattern; the text itself if the catalogue has none."""
    if isinstance(text, LazyString):
        values = {
            name: translated(value, catalogue) if isinstance(value, str) else value
            for name, value in text.values.items()
        }
        return catalogue.get(text.pattern, text.pattern).format(**values)
    return catalogue.get(text, text)


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
