"""A study in each of its languages: its own translations, and Parley's words for the texts that it leaves as they are.

What participants read is part of the study: the words of the catalogue that a study uses stand in its document, so that
a session begun today reads the same when a catalogue has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from app.i18n.catalogues import catalogue, catalogues, is_supported, primary
from experiments.errors import ValidationIssue, suggestion
from experiments.study.resolve import Check, resolve
from experiments.study.study import Study
from experiments.views.translatable_texts import normalize_whitespace, prompts_of, texts_of
from problems.problem import Problem

Raw = Mapping[str, Any]


def resolve_translations(
    raw: Raw,
    protocols: Mapping[str, Raw],
    problems: Mapping[str, Sequence[Problem]],
    instruments: Mapping[str, Raw] = MappingProxyType({}),
    check: Check | None = None,
) -> Study:
    """The study in all its languages; raises StudyError with all errors, also those of a further `check`."""
    study = resolve(raw, protocols, problems, instruments, check)
    file = study.file
    tags = dict.fromkeys((file.language, *file.offered))
    full = file.translations | {tag: words for tag in tags if (words := _words(study, tag))}
    return (
        study if full == file.translations else resolve({**raw, "translations": full}, protocols, problems, instruments)
    )


def _words(study: Study, tag: str) -> dict[str, str]:
    """Each text with its translation: the study's own, however it is wrapped there, or else the catalogue's."""
    own, common = study.file.translations.get(tag, {}), catalogue(tag).words
    flowing = {normalize_whitespace(text): words for text, words in own.items()}
    texts = (*texts_of(study), *prompts_of(study))
    found = {text: flowing.get(normalize_whitespace(text)) or common.get(text, "") for text in texts}
    met = {normalize_whitespace(text) for text in found}
    strays = {text: words for text, words in own.items() if normalize_whitespace(text) not in met}
    return {text: words for text, words in found.items() if words} | strays


def missing_translations(study: Study, tag: str) -> tuple[str, ...]:
    """The texts of a study that participants in a language would read in another."""
    if primary(tag) == primary(study.file.language):
        return ()
    there = set(_words(study, tag))
    if primary(tag) == "en":
        there |= {text for one in catalogues().values() for text in one.words}
    return tuple(text for text in texts_of(study) if text not in there)


def language_faults(raw: Raw) -> Iterator[ValidationIssue]:
    own, offered, given = raw.get("language", "en"), raw.get("languages"), raw.get("translations")
    tags = offered if isinstance(offered, list) else []
    for where, tag in [("language", own), *((f"languages[{n}]", tag) for n, tag in enumerate(tags))]:
        if isinstance(tag, str) and not is_supported(tag):
            known = suggestion(tag, catalogues())
            more = "Another language is one file: docs/extending.md, Another language"
            yield ValidationIssue(where, f"Parley has no texts in {tag!r}{known} {more}")
    for tag in given if isinstance(given, dict) else ():
        if tag not in (own, *tags):
            yield ValidationIssue(
                f"translations.{tag}", f"{tag!r} is not offered; add it to `languages`, after {own!r}"
            )
