"""The pictures that the texts of a study ask for, read from the folders of the study and of its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.errors import ValidationIssue
from experiments.study.study import Study
from experiments.views.translatable_texts import texts_of
from problems.errors import ProblemError
from problems.pictures import Picture, embeds, key_of, read_picture, unshowable
from problems.problem import Problem
from problems.registry import ITEMS, SAMPLE, place

NOT_MARKDOWN = ("title", "button", "decline", "phase")
"""Keys whose texts the page shows without Markdown."""


@dataclass(slots=True)
class FoundPictures:
    """The pictures by what the texts call them, their content by SHA-256, and what cannot be shown."""

    by_key: dict[str, Picture] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[ValidationIssue] = field(default_factory=list)

    def add(self, where: str, name: str, text: str, folders: Sequence[Path], *, quoted: bool = False) -> None:
        """Read the pictures of a text. A text that is only `quoted`, as in a finished conversation, may hold anything:
        what is no picture is shown as it was written."""
        faults = [] if quoted else list(unshowable(text))
        for embed in embeds(text):
            try:
                picture, content = read_picture(embed.source, folders)
            except ProblemError as error:
                faults += [] if quoted else [f"asks for a picture that cannot be shown: {error}"]
                continue
            if not embed.alt.strip() and not quoted:
                faults.append(
                    f"has a picture, {embed.source[:60]!r}, without alternative text. Write what it shows between the "
                    "brackets, for participants who cannot see it: ![what it shows](file.png)"
                )
            known = self.by_key.setdefault(key_of(embed.source), picture)
            if known != picture:
                faults.append(
                    f"asks for {embed.source!r}, which is one picture here and another elsewhere in the study. "
                    "Rename one of them"
                )
            self.files[picture.sha256] = content
        about = f"{name} " if name else ""
        self.faults += [ValidationIssue(where, f"{about}{fault}") for fault in faults]

    def add_items(self, where: str, problems: Sequence[Problem], folders: Sequence[Path]) -> None:
        """Read the pictures of problems."""
        for problem in problems:
            for part, text, quoted in _problem_texts(problem):
                self.add(where, f"{problem.id!r}{part}", text, folders, quoted=quoted)


def find_pictures(study: Study, raw: Mapping[str, Any], folder: Path) -> FoundPictures:
    """All pictures of a study whose file is in `folder`."""
    found = FoundPictures()
    for pool, problems in study.pools.items():
        found.add_items(f"problems.{pool}", problems, [*_items_folder(raw["problems"][pool], folder), folder])
    for where, text in _study_texts(study, raw):
        if where.rpartition(".")[2] in NOT_MARKDOWN and embeds(text):
            fault = "has a picture, and is shown without Markdown. Put the picture into a text or a question"
            found.faults.append(ValidationIssue(where, fault))
        else:
            found.add(where, "", text, [folder])
    return found


def _items_folder(given: Mapping[str, Any], base: Path) -> Iterator[Path]:
    if "items" not in given:
        path = place(str(given.get("source", ITEMS)), str(given.get("path", SAMPLE)), base)
        yield path if path.is_dir() else path.parent


def _problem_texts(problem: Problem) -> Iterator[tuple[str, str, bool]]:
    """The texts of a problem, each with its part and whether it is only quoted."""
    spoken = {message.text for message in problem.dialogue}
    yield "", problem.text, problem.text in spoken
    yield from ((f", option {option.key},", option.text, False) for option in problem.options)
    yield from ((f", message {number},", one.text, True) for number, one in enumerate(problem.dialogue, 1))


def _study_texts(study: Study, raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of the study itself and of its translations, each with its place in the file."""
    places = {text: where for where, text in _strings(raw, "")}
    file = study.file
    translated = [text for words in file.translations.values() for text in words.values()]
    for text in dict.fromkeys((*texts_of(study), file.contact, *translated)):
        yield places.get(text, ""), text


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of a file with its path, such as `flow[3].text`."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _strings(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _strings(part, f"{where}[{number}]")
