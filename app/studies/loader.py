"""Finding and reading study files: by path, or by name among those that come with Parley.

The one place that turns files into a `Study`: YAML, the protocols and instruments (Parley's own and those in the
folders `protocols` and `instruments` beside the study), the problems, and what only the backends and schemas can check.
All faults are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.backends.providers import how_reached
from app.backends.registry import BACKENDS, check_options, check_server
from app.errors import NotYaml
from app.extension import extensions, study_faults
from app.studies.text_check import TextCheck, check_texts
from app.studies.translations import language_faults, resolve_translations
from app.studies.yaml_loader import YamlDocument, parse_yaml
from experiments.errors import StudyError, ValidationIssue, suggestion, unknown
from experiments.study.resolve import with_pictures
from experiments.study.study import Study
from problems.errors import ProblemError, did_you_mean
from problems.pools import load_pool
from problems.problem import Problem
from problems.text import NotText, read_text
from storage.schemas.registry import schemas

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
STUDIES = EXPERIMENTS / "studies"
PROTOCOLS = EXPERIMENTS / "protocols"
INSTRUMENTS = EXPERIMENTS / "instruments"
NAMED: Mapping[type, str] = {list: "a list", str: "a text"}
UNQUOTED = "Is a text with `:`, `?`, `@` or `{{` unquoted?"
OPEN = "Is a quotation mark or a bracket not closed?"
HINTS: Mapping[str, str] = {
    r"\t": "Indent with spaces; YAML takes no tabs.",
    "stands twice": "Leave one of the two out, or rename it.",
    "mapping values are not allowed": f"{UNQUOTED} Or is a line indented too far?",
    "expected <block end>": "Do lines that belong together begin in the same column?",
    "has no place in a text": "It is invisible in most editors; copied text often has such characters.",
    "found unexpected": OPEN,
    "expected ',' or": OPEN,
}
_TRANSLATION = re.compile(r"translations\.([\w-]+)\.(.+)", re.DOTALL)
_LINE = re.compile(r"(?:(.+), )?line (\d+)")
FILE = "study.yaml"
Load = Callable[[Mapping[str, Any], str, Path], tuple[Problem, ...]]


def shipped() -> list[str]:
    """The names of the studies that come with Parley; `demo.de.yaml` is a translation of one."""
    return sorted(_shipped_files())


def _shipped_files() -> dict[str, Path]:
    folders = (STUDIES, *(one.studies for one in extensions() if one.studies))
    return {path.stem: path for folder in folders for path in folder.glob("*.yaml") if "." not in path.stem}


def find(reference: str, published: Collection[str] = ()) -> Path:
    """A study's file, or that of a name of Parley's; raises StudyError, which suggests `published` ones too."""
    path = Path(reference)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        if not path.is_file():
            beside = [one.name for suffix in ("yaml", "yml") for one in path.parent.glob(f"*.{suffix}")]
            hint = did_you_mean(path.name, beside)
            raise StudyError(reference, [ValidationIssue("", "the file does not exist" + (hint and f".{hint}"))])
        return path
    if (path / FILE).is_file():
        return path / FILE
    if reference not in (files := _shipped_files()):
        what = "is neither a file nor a study that comes with Parley" + (" or is published here" if published else "")
        known = suggestion(reference, [*sorted(files), *published])
        raise StudyError(reference, [ValidationIssue("", f"{what}{known}")])
    return files[reference]


def load_study(reference: str) -> Study:
    """Read, resolve and check a study; raises StudyError with every fault."""
    path = find(reference)
    page = _page(path)
    try:
        return study_of(mapping_of(page, str(path)), path)
    except StudyError as error:
        raise _with_lines(error, page, path) from None


def study_error(reference: str, issues: list[ValidationIssue]) -> StudyError:
    """The error of a study that is what its file may be and cannot be used here; with lines where it is a file's."""
    try:
        path = find(reference)
    except StudyError:  # a published study
        return StudyError(reference, issues)
    return _with_lines(StudyError(str(path), issues), _page(path), path)


def _with_lines(error: StudyError, page: YamlDocument, path: Path) -> StudyError:
    return StudyError(error.name, sorted((_placed(issue, page, path) for issue in error.found), key=_line))


def study_of(raw: dict[str, Any], path: Path, load: Load = load_pool) -> Study:
    """The study that a file holds; raises StudyError with every fault. `load` reads the problems of a source."""
    faults: list[ValidationIssue] = []
    protocols, instruments = read_protocols(path.parent, faults), read_instruments(path.parent, faults)
    unread = [Path(fault.place).stem for fault in faults]
    raw = _with_translations(raw, path, faults)
    pools = _pools(raw, path.parent, load, faults)
    unread += [str(name) for name in raw.get("problems") or () if str(name) not in pools] if faults else []
    faults += _validate_external(raw)
    texts = list[TextCheck]()

    def check(study: Study) -> Iterator[ValidationIssue]:
        yield from study_faults(study)
        texts.append(check_texts(study, raw, protocols, path.parent))
        yield from texts[-1].faults

    study = None
    try:
        study = resolve_translations(raw, protocols, pools, instruments, check)
    except StudyError as error:
        # What follows from a file that could not be read is not told again.
        faults += [fault for fault in error.found if not any(repr(name) in fault.what for name in unread)]
    if faults or study is None:
        raise StudyError(str(path), faults)
    return with_pictures(study, texts[-1].by_key, texts[-1].files)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping; raises StudyError."""
    return mapping_of(_page(path), str(path))


def _page(path: Path) -> YamlDocument:
    try:
        return parse_yaml(read_text(path))
    except NotYaml as error:
        raise StudyError(str(path), [yaml_issue(error)]) from None
    except NotText as error:
        raise StudyError(str(path), [text_issue(error)]) from None
    except ProblemError as error:
        raise StudyError(str(path), [ValidationIssue("", str(error).removeprefix(f"{path}: "))]) from None


def _placed(issue: ValidationIssue, document: YamlDocument, path: Path) -> ValidationIssue:
    """The error with its line, in the study file or in the file of a translation."""
    if issue.place:
        return issue
    translation = _TRANSLATION.match(issue.where)
    file = document.value.get("translations", {}).get(translation[1]) if translation else None
    if translation and isinstance(file, str):
        span, name = _page(path.parent / file).span(translation[2]), f"{file}, "
    else:
        span, name = document.span(issue.where), ""
    return replace(issue, place=f"{name}line {span.line}") if span else issue


def _line(issue: ValidationIssue) -> tuple[bool, str, int]:
    """The errors of the study file in its order, then those of other files; at the end what has no line."""
    found = _LINE.fullmatch(issue.place)
    return (False, found[1] or "", int(found[2])) if found else (True, "", 0)


def mapping_of(document: YamlDocument, name: str) -> dict[str, Any]:
    """Raises StudyError for a text that is no mapping."""
    if not isinstance(document.value, dict):
        held = "is empty" if document.value is None else f"holds {NAMED.get(type(document.value), 'one value')}"
        what = f"{held}: a mapping with `study`, `title` and `flow` is needed"
        raise StudyError(name, [ValidationIssue("", what)])
    return document.value


def text_issue(error: NotText) -> ValidationIssue:
    return ValidationIssue(f"line {error.line}, column {error.column}", error.problem)


def yaml_issue(error: NotYaml) -> ValidationIssue:
    if error.line is None:
        return ValidationIssue("", f"is not YAML in UTF-8: {error}")
    hint = next((hint for sign, hint in HINTS.items() if sign in error.problem), UNQUOTED)
    return ValidationIssue(
        f"line {error.line}, column {error.column}", f"is not YAML: {error.problem.rstrip('.')}. {hint}"
    )


def read_protocols(beside: Path, issues: list[ValidationIssue]) -> Mapping[str, Mapping[str, Any]]:
    """The protocols by name, first those in `protocols/` beside the study. Errors are added to `issues`."""
    return _read_named("protocol", PROTOCOLS, beside, issues)


def read_instruments(beside: Path, issues: list[ValidationIssue]) -> Mapping[str, Mapping[str, Any]]:
    """Likewise for instruments: those that come with Parley, and those in `instruments/` beside the study."""
    return _read_named("instrument", INSTRUMENTS, beside, issues)


def _read_named(kind: str, own: Path, beside: Path, issues: list[ValidationIssue]) -> Mapping[str, Mapping[str, Any]]:
    """The files of a kind by the name that each has under the key `kind`."""
    read: dict[str, Mapping[str, Any]] = {}
    found = _NamedFiles(read, own)
    for path in sorted((beside / own.name).glob("*.yaml")):
        raw = _read_beside(path, issues)
        if raw is None:
            continue
        name = str(raw.get(kind))
        if name in found and raw.get("version", 1) == found[name].get("version", 1) and raw != found[name]:
            what = f"is that of Parley's own {name!r}, which is another; give it another name or version"
            issues.append(ValidationIssue("version", what, str(path)))
        read[name] = raw
    return found


def _read_beside(path: Path, issues: list[ValidationIssue]) -> dict[str, Any] | None:
    """A YAML file beside the study; None if it cannot be read, with its errors in `issues`."""
    try:
        return read_yaml(path)
    except StudyError as error:
        issues += [replace(issue, place=error.name) for issue in error.found]
        return None


# Those that come with Parley are read once: nobody writes them while it runs.
_read_once = cache(read_yaml)


class _NamedFiles(Mapping[str, Mapping[str, Any]]):
    """Files by name: those that are read already, and else Parley's own in a folder, each read when it is asked for."""

    def __init__(self, read: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
        self._read, self._own = read, {path.stem: path for path in sorted(folder.glob("*.yaml"))}

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self._read[name] if name in self._read else _read_once(self._own[name])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._read)))

    def __len__(self) -> int:
        return len({*self._own, *self._read})


def _with_translations(raw: dict[str, Any], path: Path, issues: list[ValidationIssue]) -> dict[str, Any]:
    """Read translations in files beside the study; empty if that is not possible, with errors in `issues`."""
    given = raw.get("translations")
    read: dict[str, Any] = {}
    for tag, told in given.items() if isinstance(given, dict) else ():
        file = path.parent / told if isinstance(told, str) else None
        read[tag] = told
        if file is not None and not file.is_file():
            issues.append(ValidationIssue(f"translations.{tag}", f"there is no file {told!r} beside the study file"))
            read[tag] = {}
        elif file is not None:
            read[tag] = _read_beside(file, issues) or {}
    return {**raw, "translations": read} if read else raw


def _pools(
    raw: Mapping[str, Any], base: Path, load: Load, issues: list[ValidationIssue]
) -> dict[str, tuple[Problem, ...]]:
    pools: dict[str, tuple[Problem, ...]] = {}
    sources = raw.get("problems")
    for name, source in sources.items() if isinstance(sources, dict) else ():
        if isinstance(source, dict) and isinstance(source.get("source", ""), str):
            try:
                pools[name] = load(source, str(name), base)
            except ProblemError as error:
                issues.append(ValidationIssue(f"problems.{name}", str(error)))
    return pools


def _validate_external(raw: Mapping[str, Any]) -> Iterator[ValidationIssue]:
    """Faults that only backends, schemas and catalogues can find."""
    yield from language_faults(raw)
    models, exported = raw.get("models"), raw.get("export_schemas")
    for name, model in models.items() if isinstance(models, dict) else ():
        backend = model.get("backend") if isinstance(model, dict) else None
        if isinstance(backend, str) and not BACKENDS.has(backend):
            yield ValidationIssue(f"models.{name}.backend", f"no backend is called {backend!r}{_instead(backend)}")
        elif isinstance(backend, str):
            yield from _unfit_for_backend(f"models.{name}", model, backend)
    yield from _model_references(raw, models if isinstance(models, dict) else {})
    for name in exported if isinstance(exported, list) else ():
        if isinstance(name, str) and name not in schemas():
            yield ValidationIssue("export_schemas", f"no schema is called {name!r}{suggestion(name, list(schemas()))}")


def _unfit_for_backend(where: str, model: Mapping[str, Any], backend: str) -> Iterator[ValidationIssue]:
    for text in check_server(backend, model.get("server")):
        yield ValidationIssue(f"{where}.server", text)
    options = model.get("options", {})
    for text in check_options(backend, options) if isinstance(options, dict) else ():
        yield ValidationIssue(where, text)
    if model.get("sees") and not BACKENDS.find(backend).pictures:
        known = ", ".join(name for name, kind in BACKENDS.all().items() if kind.pictures)
        what = f"models of the backend {backend!r} cannot be sent pictures; allowed: {known}"
        yield ValidationIssue(f"{where}.sees", what)


def _instead(backend: str) -> str:
    """The backends that there are; and how a server is reached, unless one of them was meant."""
    known = BACKENDS.all()
    return suggestion(backend, known) + ("" if did_you_mean(backend, known) else how_reached(backend))


def _model_references(raw: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[ValidationIssue]:
    """Sections that ask a model which is neither the study's nor one of a backend."""
    own, alone = raw.get("annotators"), raw.get("ai_alone")
    named = {f"annotators.{name}.model": (told, "model") for name, told in own.items()} if isinstance(own, dict) else {}
    for where, (told, key) in {**named, "ai_alone.extractor": (alone, "extractor")}.items():
        model = told.get(key) if isinstance(told, dict) else None
        known = model in models if isinstance(model, str) else True
        if model and not known and not BACKENDS.has(str(model).partition(":")[0]):
            hint = f" Or BACKEND:NAME, with one of the backends {', '.join(BACKENDS.all())}."
            yield ValidationIssue(where, f"{unknown('model', str(model), models)}{hint}")
