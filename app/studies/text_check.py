"""The check of a study's texts: their pictures, read from the folders of the study and of its items, and markup that
the page does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.rendering.losses import losses
from app.studies.page_texts import PageText, texts_of_problems, texts_of_study
from experiments.errors import ValidationIssue
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.pictures import Picture, embeds, key_of, read_picture
from problems.registry import ITEMS, SAMPLE, place
from storage.datasets.describe.markdown import count as how_many

MOST_NAMED = 3


@dataclass(slots=True)
class TextCheck:
    """The pictures by what the texts call them, their content by SHA-256, and what cannot be shown."""

    dollars: bool = True
    """True if a single $ delimits maths, as the study says."""
    by_key: dict[str, Picture] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    _found: dict[tuple[str, ...], list[tuple[PageText, str]]] = field(default_factory=dict)

    def add(self, text: PageText, folders: Sequence[Path]) -> None:
        """Read the pictures of a text, and find what else it asks for that the page does not show."""
        for loss in () if text.quoted else losses(text.text, text.form, dollars=self.dollars):
            self._add(text, loss.what, loss.kind)
        for fault in self._read(text, folders) if text.form != "plain" else ():
            self._add(text, fault, "picture")

    def _add(self, text: PageText, fault: str, kind: str) -> None:
        key = (text.pool, kind) if text.pool else (text.where, text.name, fault)
        self._found.setdefault(key, []).append((text, fault))

    @property
    def faults(self) -> list[ValidationIssue]:
        """Texts that cannot be shown; of a pool one error of each kind, with the number of its texts and their
        names."""
        return [_issue(found) for found in self._found.values()]

    def _read(self, text: PageText, folders: Sequence[Path]) -> Iterator[str]:
        for embed in embeds(text.text):
            try:
                picture, content = read_picture(embed.source, folders)
            except ProblemError as error:
                if not text.quoted:
                    yield f"asks for a picture that cannot be shown: {error}"
                continue
            if not embed.alt.strip() and not text.quoted:
                yield (
                    f"has a picture, {embed.source[:60]!r}, without alternative text. Write what it shows between the "
                    "brackets, for participants who cannot see it: ![what it shows](file.png)"
                )
            known = self.by_key.setdefault(key_of(embed.source), picture)
            if known != picture:
                yield (
                    f"asks for {embed.source!r}, which is one picture here and another elsewhere in the study. "
                    "Rename one of them"
                )
            self.files[picture.sha256] = content


def _issue(texts: Sequence[tuple[PageText, str]]) -> ValidationIssue:
    (first, fault), *others = texts
    about = f"{first.name} " if first.name else ""
    more = list(dict.fromkeys(text.name.rstrip(",") for text, _ in others if text != first))
    if more:
        listed = "; ".join(more[:MOST_NAMED]) + ("; ..." if len(more) > MOST_NAMED else "")
        fault += f". {how_many(len(more), 'more text')} of this pool with such an error: {listed}"
    return ValidationIssue(first.where, f"{about}{fault}")


def check_texts(study: Study, raw: Mapping[str, Any], protocols: Mapping[str, Any], folder: Path) -> TextCheck:
    """All pictures of a study whose file is in `folder`, and all that its texts ask for and the page does not show."""
    found = TextCheck(study.file.dollar_maths)
    for pool, problems in study.pools.items():
        if not problems:
            continue  # it could not be read, which is told as a fault of its own: its file may be missing
        given = raw["problems"][pool]
        file, folders = _items_file(given, folder), [folder]
        if file is not None:
            folders = [file if file.is_dir() else file.parent, folder]
        for text in texts_of_problems(f"problems.{pool}", problems):
            found.add(_in_file(text, file), folders)
    for text in texts_of_study(study, raw, protocols):
        found.add(text, [folder])
    return found


def _in_file(text: PageText, file: Path | None) -> PageText:
    """The text of a problem, named with the file that it stands in; of an item of the study file, with its path."""
    if file is not None:
        return replace(text, name=f"{file.name}, {text.name}")
    item = re.match(r"item (\d+), ", text.name)
    return (
        replace(text, where=f"{text.where}.items[{int(item[1]) - 1}]", name=text.name[item.end() :]) if item else text
    )


def _items_file(given: Mapping[str, Any], base: Path) -> Path | None:
    """The file or folder that a pool is read from; None for items in the study file."""
    return None if "items" in given else place(str(given.get("source", ITEMS)), str(given.get("path", SAMPLE)), base)
