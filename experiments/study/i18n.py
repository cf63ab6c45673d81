"""Parley's own messages, translated only when they are shown.

The code contains English. A `LazyString` is the English text and keeps the pattern and the values that it was made
from; a front end with a catalogue translates the pattern, and all other code uses it as an ordinary text.
"""

from __future__ import annotations

from collections.abc import Mapping


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
