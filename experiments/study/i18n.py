"""Sentences of Parley's own, said so that they can be said in another language at the edge.

English stands in the code. A `Said` is that English text and remembers the pattern and the values it was made of; a
front end that has a catalogue looks the pattern up there, and everybody else has a text like any other.
"""

from __future__ import annotations

from collections.abc import Mapping


class LazyString(str):
    """A text in English with the pattern that it was made from."""

    pattern: str
    values: Mapping[str, object]

    def __new__(cls, pattern: str, values: Mapping[str, object]) -> LazyString:
        """The pattern with its values in it."""
        said = super().__new__(cls, pattern.format(**values))
        said.pattern, said.values = pattern, values
        return said

    def __reduce__(self) -> tuple[type[LazyString], tuple[str, Mapping[str, object]]]:
        """What a copy is made of."""
        return LazyString, (self.pattern, self.values)


def lazy(pattern: str, **values: object) -> LazyString:
    """A sentence with values: `say("{count} are left", count=3)`."""
    return LazyString(pattern, values)


def translated(text: str, catalogue: Mapping[str, str]) -> str:
    """A text as a catalogue has it, by the English pattern; the text itself where it has none."""
    if isinstance(text, LazyString):
        values = {
            name: translated(value, catalogue) if isinstance(value, str) else value
            for name, value in text.values.items()
        }
        return catalogue.get(text.pattern, text.pattern).format(**values)
    return catalogue.get(text, text)
