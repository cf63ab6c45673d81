"""The check of a study's texts: their pictures, read from the folders of the study and of its items, and what the page
shows as its source, by the page's own parser: formulas that cannot be drawn, and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from markdown_it.token import Token

from app.rendering.markdown import MAX_CHARS, Parser
from app.rendering.maths import not_drawn
from experiments.errors import ValidationIssue
from experiments.plural import count as how_many
from experiments.study.resolve import named_protocols
from experiments.study.study import Study
from experiments.views.translatable_texts import all_texts
from problems.errors import ProblemError
from problems.pictures import Picture, embeds, key_of, read_picture, shortened
from problems.problem import Problem
from problems.registry import ITEMS, SAMPLE, place

MOST_NAMED = 3
LONGEST = 60
_MAY_FAIL = re.compile(r"[<\\$]")
# What asks for something: the end of an element, one that ends at once or has an attribute, and one that needs no end.
# Not the mere mention of one, such as <img> without an attribute.
_TAG = re.compile(
    r"<!--|<(?:/(\w+)|(\w+)(?:\s[^<>]*)?/|(\w+)\s[^<>]*=[^<>]*|(hr|wbr|li|d[dt]|p|caption|t[rhd]|script|style))\s*>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageText:
    """A text that participants read, and its path in the study file (empty if it comes from elsewhere)."""

    where: str
    text: str
    name: str = ""
    """The text's name where the path does not give it: `line 7, 'q1', option A`."""
    quoted: bool = False
    """True for quoted text, such as a message of a finished conversation, which may hold anything."""
    pool: str = ""
    """The pool that it is of, whose errors of one kind are one error; empty for a text of the study itself."""


@dataclass(slots=True)
class TextCheck:
    """The pictures by their names in the texts, their content by SHA-256, and the faults."""

    dollars: bool = True
    """True if a single $ delimits maths, as the study says."""
    by_key: dict[str, Picture] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    _found: dict[tuple[str, ...], list[tuple[PageText, str]]] = field(default_factory=dict)

    def add(self, text: PageText, folders: Sequence[Path]) -> None:
        """Read the pictures of a text, and find what else it asks for that the page does not show."""
        shown = () if text.quoted else _shown_as_source(shortened(text.text), dollars=self.dollars)
        for kind, fault in (*shown, *(("picture", fault) for fault in self._read(text, folders))):
            key = (text.pool, kind) if text.pool else (text.where, text.name, fault)
            self._found.setdefault(key, []).append((text, fault))

    def add_problems(self, problems: Sequence[Problem], folder: Path) -> None:
        for text in _texts_of_problems("", problems):
            self.add(text, [folder])

    @property
    def faults(self) -> list[ValidationIssue]:
        """Texts that cannot be shown; of a pool one error of each kind, with the number of texts and names."""
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
        for text in _texts_of_problems(f"problems.{pool}", problems):
            found.add(_in_file(text, file), folders)
    for text in _texts_of_study(study, raw, protocols):
        found.add(text, [folder])
    return found


def _issue(texts: Sequence[tuple[PageText, str]]) -> ValidationIssue:
    (first, fault), *others = texts
    about = f"{first.name} " if first.name else ""
    more = list(dict.fromkeys(text.name.rstrip(",") for text, _ in others if text != first))
    if more:
        listed = "; ".join(more[:MOST_NAMED]) + ("; ..." if len(more) > MOST_NAMED else "")
        fault += f". {how_many(len(more), 'more text')} of this pool with such an error: {listed}"
    return ValidationIssue(first.where, f"{about}{fault}")


def _in_file(text: PageText, file: Path | None) -> PageText:
    """The text of a problem, named with the file that it stands in; of an item of the study file, with its path."""
    if file is not None:
        return replace(text, name=f"{file.name}, {text.name}")
    item = re.match(r"item (\d+), ", text.name)
    return (
        replace(text, where=f"{text.where}.items[{int(item[1]) - 1}]", name=text.name[item.end() :]) if item else text
    )


def _items_file(given: Mapping[str, Any], base: Path) -> Path | None:
    return None if "items" in given else place(str(given.get("source", ITEMS)), str(given.get("path", SAMPLE)), base)


def _texts_of_problems(where: str, problems: Sequence[Problem]) -> Iterator[PageText]:
    for problem in problems:
        name = f"{problem.place}, {problem.id!r}" if problem.place else repr(problem.id)
        spoken = {message.text for message in problem.dialogue}
        yield PageText(where, problem.text, name, problem.text in spoken, where or "items")
        for option in problem.options:
            yield PageText(where, option.text, f"{name}, option {option.key},", pool=where or "items")
        for number, message in enumerate(problem.dialogue, 1):
            yield PageText(where, message.text, f"{name}, message {number},", True, where or "items")


def _texts_of_study(study: Study, raw: Mapping[str, Any], protocols: Mapping[str, Any]) -> Iterator[PageText]:
    named = {name: protocols[name] for name in sorted(named_protocols(study.file) & protocols.keys())}
    instruments = {name: one.model_dump(mode="json", by_alias=True) for name, one in study.instruments.items()}
    places = _places("protocol", named) | _places("instrument", instruments)
    places |= {text: (where, "") for text, where in reversed([*_strings(raw, "")])}  # of equal texts the first
    translated = (text for words in study.file.translations.values() for text in words.values())
    for text in dict.fromkeys((study.file.contact, *all_texts(study), *translated)):
        where, name = places.get(text, ("", ""))
        yield PageText(where, text, name)


def _places(kind: str, files: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The texts of protocols or instruments, each named by its file and its path there."""
    return {
        text: ("", f"the {kind} {name!r}, {where},") for name, raw in files.items() for text, where in _strings(raw, "")
    }


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of a file with its path, such as `flow[3].text`."""
    if isinstance(value, str):
        yield value, where
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _strings(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _strings(part, f"{where}[{number}]")


@lru_cache(maxsize=4096)
def _shown_as_source(text: str, *, dollars: bool) -> Sequence[tuple[str, str]]:
    """List the parts that the page shows as they are written, each with its kind."""
    if len(text) > MAX_CHARS:
        return [("size", f"has {len(text):,} characters; above {MAX_CHARS:,} it is shown as typed. Divide it")]
    if not _MAY_FAIL.search(text):
        return ()
    tokens = _PARSER.parse(text, {"dollars": dollars, "authored": True, "pictures": None})
    return [fault for token in tokens for child in token.children or () for fault in _fault(child)]


def _fault(token: Token) -> Iterator[tuple[str, str]]:
    if token.type == "formula" and (reason := not_drawn(token.content, display=token.meta["display"])):
        what = f"has the formula {_short(token.content)}, which cannot be drawn: {reason}"
        yield "formula", f"{what}. Write it with other commands, or show it as a picture"
    elif token.type == "text" and (tag := _TAG.search(token.content)):
        name = next(filter(None, tag.groups()), "")
        yield (
            "tag",
            f"holds {f'the HTML tag <{name}>' if name else 'a comment of HTML'}, which is shown as typed. Write "
            "Markdown, such as ![what it shows](file.png) and [text](https://...), or put the tag between backticks to "
            "show it as it is",
        )


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if len(flat) <= LONGEST else f"`{flat[:LONGEST]}...`"


_PARSER = Parser(authored=True)
_PARSER.disable("text_join")  # letters that were escaped by a backslash stay apart from the text
