"""Studies that are being written: made from a template, kept as files, checked as one types.

A draft is a folder with `study.yaml` and whatever lies beside it. What is checked here may be anybody's text: it is
bounded in size, and names no file outside its folder.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from shlex import quote
from shutil import copytree, ignore_patterns
from tempfile import NamedTemporaryFile
from typing import Any

from app.backends.registry import streaming_advice
from app.errors import NotYaml
from app.extension import study_advice
from app.studies.draft_files import PART, version_of
from app.studies.loader import FILE, find, mapping_of, shipped, study_of, text_issue, yaml_issue
from app.studies.translations import missing_translations
from app.studies.yaml_loader import Span, YamlDocument, parse_yaml
from experiments.errors import StudyError, ValidationIssue, suggestion
from experiments.plural import count as how_many
from experiments.study.checks.lint import advice
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.pools import load_pool
from problems.problem import Problem
from problems.registry import ITEMS, SAMPLE, place
from problems.text import NotText, clean, decoded

LARGEST_BYTES = 200_000
LONGEST_NAME = 60
# Bytes of a part of a path, as file systems have it.
LONGEST_PART = 255
NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
# For how long after a change a file is read anew each time: the next change may have the same time.
YOUNG_NS = 2_000_000_000
_SCHEMA_LINE = "# yaml-language-server:"


@dataclass(frozen=True, slots=True)
class LocatedIssue:
    """A fault, with the line of the file that it is about; None where it is about another file, or all of it."""

    line: int | None
    where: str
    what: str
    column: int = 1
    """The column at which it begins in the line, from 1."""
    end: int | None = None
    """The column after its last character; None for the rest of the line."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    study: Study | None
    faults: tuple[LocatedIssue, ...] = ()
    advice: tuple[str, ...] = ()


class Drafts:
    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self) -> tuple[str, ...]:
        found = (path.parent.name for path in self._root.glob(f"*/{FILE}"))
        return tuple(sorted(name for name in found if NAME.fullmatch(name)))

    def folder(self, name: str) -> Path:
        """The path of a draft, which need not exist; raises StudyError for a name that is not allowed."""
        if not NAME.fullmatch(name):
            what = f"is not a name: a letter, then letters, digits, - and _, at most {LONGEST_NAME}"
            raise StudyError(repr(name[:LONGEST_NAME]), [ValidationIssue("", what)])
        return self._root / name

    def text(self, name: str) -> str:
        """With LF as line ends; raises StudyError."""
        path = self._existing(name)
        try:
            return decoded(path.read_bytes(), str(path))
        except NotText as error:
            raise StudyError(str(path), [text_issue(error)]) from None

    def save(self, name: str, text: str) -> None:
        """Replace the content of a draft, all at once; raises StudyError."""
        save_draft(self._existing(name), text)

    def create(self, name: str, template: str) -> None:
        """A new draft of a study that comes with Parley; raises StudyError."""
        create_draft(self.folder(name), template)

    def copy(self, name: str, other: str) -> None:
        """A new draft with the text and the files of another one; raises StudyError."""
        text, folder = self.text(other), self.reserve(name)
        ignored = ignore_patterns(".*", FILE)
        copytree(self.folder(other), folder, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        save_draft(folder / FILE, _under_name(text, name))

    def reserve(self, name: str) -> Path:
        """The folder for a new draft; raises StudyError if there is a draft of that name."""
        path = self.folder(name) / FILE
        if path.exists():
            raise StudyError(name, [ValidationIssue("", "exists already and is not replaced; choose another name")])
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.parent

    def _existing(self, name: str) -> Path:
        path = self.folder(name) / FILE
        if not path.is_file():
            raise StudyError(name, [ValidationIssue("", f"there is no such draft{suggestion(name, self.names())}")])
        return path


def create_draft(folder: Path, template: str) -> Path:
    """A study file of one's own in a folder, from a template and with what that needs beside it; raises StudyError."""
    if template not in shipped():
        raise StudyError(
            template, [ValidationIssue("", f"is not a study that comes with Parley{suggestion(template, shipped())}")]
        )
    path = folder / FILE
    if path.exists():
        raise StudyError(str(path), [ValidationIssue("", "exists already and is not replaced; choose another folder")])
    source, name = find(template), slug(folder.resolve().name)
    text = source.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for beside in {file.name for file in source.parent.iterdir()} & set(_words(parse_yaml(text).value)):
        if not (folder / beside).exists():
            save_draft(folder / beside, _renamed((source.parent / beside).read_text(encoding="utf-8"), template, name))
    save_draft(path, _as_new_study(_renamed(text, template, name), name, path))
    return path


def slug(name: str) -> str:
    """The valid study name nearest to a text."""
    found = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")
    return (found if NAME.match(found) else f"study-{found}".strip("-"))[:LONGEST_NAME]


def save_draft(path: Path, text: str) -> None:
    """Clean and replace the text, whole or not at all; raises StudyError for one that is too large."""
    written = clean(text).encode()
    if fault := _too_large(written):
        raise StudyError(str(path), [fault])
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=PART, delete=False) as file:
        part = Path(file.name)
        try:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
            part.chmod(0o644)
            part.replace(path)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def check_text(text: str, folder: Path) -> CheckResult:
    """Check a study's text as if it stood in a folder: by the same rules as a file's, but bounded."""
    if fault := _too_large(text.encode("utf-8", "surrogatepass")):
        return _faulty([fault])
    path = folder / FILE
    try:
        page = parse_yaml(text)
    except NotYaml as error:
        return CheckResult(None, (LocatedIssue(error.line, "", yaml_issue(error).what, error.column or 1),))
    try:
        raw = mapping_of(page, str(path))
        if faults := list(_outside(raw, folder)):
            return _faulty(faults, page)
        study = study_of(raw, path, _load)
    except StudyError as error:
        return _faulty(error.found, page)
    own = (*advice(study, None), *streaming_advice(study.file.models))
    return CheckResult(study, advice=(*own, *study_advice(study), *_untranslated(study)))


def with_issues(text: str, issues: Sequence[ValidationIssue]) -> CheckResult:
    """The result for a text whose only errors are these, which are found from outside of it."""
    return _faulty(issues, parse_yaml(text))


def _untranslated(study: Study) -> Iterator[str]:
    for tag in study.file.offered:
        if lacking := missing_translations(study, tag):
            texts = how_many(len(lacking), "text has", "texts have")
            yield f"{tag}: {texts} no translation, the first {lacking[0][:LONGEST_NAME]!r}"


def _faulty(
    issues: Iterable[ValidationIssue],
    document: YamlDocument | None = None,
) -> CheckResult:
    return CheckResult(
        None, tuple(_located(fault, document.span(fault.where) if document else None) for fault in issues)
    )


def _located(issue: ValidationIssue, span: Span | None) -> LocatedIssue:
    if issue.place:  # in another file
        return LocatedIssue(None, f"{issue.place}: {issue.where}", issue.what)
    if span is None:
        return LocatedIssue(None, issue.where, issue.what)
    return LocatedIssue(span.line, issue.where, issue.what, span.column, span.end)


def _too_large(written: bytes) -> ValidationIssue | None:
    too_large = len(written) > LARGEST_BYTES
    return (
        ValidationIssue("", f"has {len(written):,} bytes; at most {LARGEST_BYTES:,} are allowed") if too_large else None
    )


def _outside(raw: Mapping[str, Any], folder: Path) -> Iterator[ValidationIssue]:
    """Yield an error for each file outside the study's folder: a draft must not read other files of the server."""
    for where, path in _paths(raw):
        if "\0" in path or any(len(part.encode()) > LONGEST_PART for part in path.split("/")):
            yield ValidationIssue(where, f"{path[:LONGEST_NAME]!r} is not a name of a file")
        elif not (folder / path).resolve().is_relative_to(folder.resolve()):
            yield ValidationIssue(where, f"{path!r} leads out of the study's folder; put the file there")


def _paths(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sources, translations = raw.get("problems"), raw.get("translations")
    for name, source in sources.items() if isinstance(sources, dict) else ():
        path = source.get("path") if isinstance(source, dict) else None
        if path is not None:
            yield f"problems.{name}.path", str(path)
    for tag, told in translations.items() if isinstance(translations, dict) else ():
        if isinstance(told, str):
            yield f"translations.{tag}", told


def _load(given: Mapping[str, Any], pool: str, base: Path) -> tuple[Problem, ...]:
    """Problems as they are read once: again only when a file has changed."""
    if "items" in given:
        return load_pool(given, pool, base)
    read_from = place(str(given.get("source", ITEMS)), str(given.get("path", SAMPLE)), base)
    files = sorted(read_from.rglob("*")) if read_from.is_dir() else [read_from]
    versions = tuple((file, version_of(file)) for file in files)
    if any(max(written, changed) > time.time_ns() - YOUNG_NS for _, (_, written, changed, _) in versions):
        return load_pool(given, pool, base)
    found = _read(json.dumps(given, default=str), pool, base, versions)
    if isinstance(found, ProblemError):
        raise ProblemError(*found.args)
    return found


@lru_cache(maxsize=16)
def _read(given: str, pool: str, base: Path, _versions: object) -> tuple[Problem, ...] | ProblemError:
    try:
        return load_pool(json.loads(given), pool, base)
    except ProblemError as error:
        return error


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _words(part)


def _renamed(text: str, template: str, name: str) -> str:
    return re.sub(rf"(/s/){template}\b", rf"\g<1>{name}", text)


def _as_new_study(text: str, name: str, path: Path) -> str:
    """A template's text as the first version of another study, its comments kept, and what to do next above it."""
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_SCHEMA_LINE))
    file = quote(str(path))
    return f"# What next: parley check {file}, then parley serve {file}\n{_under_name(text, name)}"


def _under_name(text: str, name: str) -> str:
    text = re.sub(r"^study: .*$", f"study: {name}", text, count=1, flags=re.M)
    return re.sub(r"^version: .*$", "version: 1", text, count=1, flags=re.M)
