"""Consent forms that contain what they have to, or all but something: the examples of the check, one after another."""

from __future__ import annotations

from collections.abc import Collection

from experiments.study.consent.elements import ELEMENTS, WORDINGS

EVERY = tuple(element.name for element in ELEMENTS)


def form(language: str = "en", without: Collection[str] = ()) -> str:
    """The text of a form without some elements."""
    return " ".join(WORDINGS[language][name].example for name in EVERY if name not in without)
