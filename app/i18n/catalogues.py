"""The languages that Parley itself speaks: English, which stands in the code, and a catalogue for each other one.

A catalogue is a file `experiments/languages/TAG.json`: what the language calls itself, the direction in which it is
written, and for each English pattern its translation. Another file is another language; nothing else names them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from experiments.study.texts import lazy, translated

FOLDER = Path(__file__).parents[2] / "experiments" / "languages"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A language: its tag as in HTML's `lang`, its own name, and its texts by the English pattern."""

    tag: str
    name: str
    direction: Literal["ltr", "rtl"] = "ltr"
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, text: str, **values: object) -> str:
        """A text, or a pattern with values, in this language; in English where there is no translation."""
        return translated(lazy(text, **values) if values else text, self.words)


ENGLISH = Catalogue("en", "English")


@cache
def catalogues() -> Mapping[str, Catalogue]:
    found = {"en": ENGLISH}
    for path in FOLDER.glob("*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = Catalogue(path.stem, raw["name"], raw["direction"], raw["words"])
    return dict(sorted(found.items()))


def catalogue(tag: str) -> Catalogue:
    """The catalogue of a language, or of what it is a kind of (`de-AT` of `de`); English where there is none."""
    return _catalogue_of(tag) or ENGLISH


def is_supported(tag: str) -> bool:
    return _catalogue_of(tag) is not None


def _catalogue_of(tag: str) -> Catalogue | None:
    return catalogues().get(tag) or catalogues().get(primary(tag))


def primary(tag: str) -> str:
    """The language itself, without its region: `de` of `de-AT`."""
    return tag.partition("-")[0].lower()


def negotiate(accepts: str, offered: Iterable[str]) -> str | None:
    """Return the offered language that a browser's Accept-Language likes best; None where it likes none of them."""
    choices = list(offered)
    exact = {tag.lower(): tag for tag in choices}
    alike = {primary(tag): tag for tag in reversed(choices)}
    for wanted in _accepted_tags(accepts):
        found = exact.get(wanted) or alike.get(primary(wanted))
        if found is not None:
            return found
    return None


def _accepted_tags(accepts: str) -> list[str]:
    """The tags of an Accept-Language, best first; what cannot be read as a weight counts as none."""
    weighed = []
    for part in accepts.split(",")[:20]:
        tag, _, weight = part.strip().partition(";")
        number = weight.strip().removeprefix("q=").strip()
        share = float(number) if number.replace(".", "", 1).isdecimal() else 0.0 if weight else 1.0
        weighed.append((tag.strip().lower(), share))
    return [tag for tag, share in sorted(weighed, key=lambda one: -one[1]) if share > 0]
