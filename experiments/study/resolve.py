"""Resolves a study file into a Study: inlines its protocols and instruments, divides problems into groups, and
computes the hash.

A resolved study is a document of plain JSON (the file as written, the protocols and instruments it names, every
problem) and what is computed from it. The document's hash covers everything that could change a result, and a session
keeps its version for life. Publication metadata (`dataset:`) and what is said for data protection (`privacy:`) could
not, and are left out. Order is preserved, because the order of options and problems is part of the study.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import ValidationError

from experiments.errors import StudyError, ValidationIssue, unknown
from experiments.instruments.dices_safety import COMPREHENSION_OPTIONS, REASONS
from experiments.instruments.scales import LABELS, QUESTIONS, SCALES, WRITE_IN
from experiments.study.base_model import StrictModel
from experiments.study.checks.validation import validate
from experiments.study.checks.validation_errors import drop_consequential, issues_of, parse_leniently
from experiments.study.instrument import Instrument
from experiments.study.latin_square import order_factors
from experiments.study.location import as_words
from experiments.study.schema import ByFactor, Node, ProblemGroups, ProtocolFile, StudyFile
from experiments.study.sections.memory import MemorySpec
from experiments.study.step import Step
from experiments.study.study import Study, nodes_of
from problems.pictures import Picture, PictureMap
from problems.problem import Problem

Json = Any
M = TypeVar("M", bound=StrictModel)
Check = Callable[[Study], Iterable[ValidationIssue]]


def resolve(
    raw: Mapping[str, Json],
    protocols: Mapping[str, Mapping[str, Json]],
    problems: Mapping[str, Sequence[Problem]],
    instruments: Mapping[str, Mapping[str, Json]] = {},
    check: Check | None = None,
) -> Study:
    """Raises StudyError with all errors, also those that a further `check` finds."""
    name = str(raw.get("study", "study"))
    file, faults = parse_leniently(raw)
    if file is None:
        raise StudyError(name, faults)
    unread = list[ValidationIssue]()
    read = _read("protocol", ProtocolFile, named_protocols(file), protocols, unread)
    named = {name for flow in (file.tree, *(one.flow for one in read.values())) for name in _instruments_in(flow)}
    asked = _read("instrument", Instrument, named, instruments, unread)
    text = json.dumps(
        {
            "file": _plain(file.model_copy(update={"dataset": None, "privacy": None})),
            "protocols": {key: _plain(protocol) for key, protocol in read.items()},
            "problems": {key: [item.to_json() for item in problems.get(key, ())] for key in file.problems},
            "wording": _wording(),
            **({"instruments": {key: _plain(one) for key, one in asked.items()}} if asked else {}),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
    inlined = _Inlined(file, read, protocols, instruments)
    study = _study(file, inlined.flow, problems, text, asked)
    found = [*inlined.issues, *validate(study), *(check(study) if check else ())]
    whole = not (unread or inlined.issues or any(fault.where.startswith(file.root) for fault in faults))
    faults += drop_consequential(raw, faults, found if whole else [fault for fault in found if not fault.absent])
    if faults := [*unread, *faults]:
        raise StudyError(name, faults)
    return study


def with_pictures(study: Study, pictures: Mapping[str, Picture], files: Mapping[str, bytes]) -> Study:
    """The pictures become part of its document and hash; `files` is their content by SHA-256."""
    if not pictures:
        return study
    named = {key: picture.to_json() for key, picture in sorted(pictures.items())}
    text = json.dumps(json.loads(study.document) | {"pictures": named}, ensure_ascii=False, separators=(",", ":"))
    return replace(
        study,
        document=text,
        hash=sha256(text.encode()).hexdigest(),
        pictures=PictureMap(dict(pictures)),
        picture_files=dict(files),
    )


def _wording() -> dict[str, Any]:
    """The wording of the instruments, which a study file refers to by name; part of the document and its hash."""
    return {
        "scales": {key: dict(scale) for key, scale in SCALES.items()},
        "questions": dict(QUESTIONS),
        "comprehension": list(COMPREHENSION_OPTIONS),
        "reasons": {name: {key: dict(part) for key, part in edition.items()} for name, edition in REASONS.items()},
        "labels": {**LABELS, "other": WRITE_IN},
    }


def restore(document: str) -> Study:
    """A study that was validated when it was made. Raises StudyError if a step's package is no longer installed."""
    parts = json.loads(document)
    # A document leaves out what is null, which is not the default here.
    parts["file"].setdefault("session_limits", {}).setdefault("end_after_unattended", None)
    try:
        file = StudyFile.model_validate(parts["file"])
        read = {key: ProtocolFile.model_validate(raw) for key, raw in parts["protocols"].items()}
    except ValidationError as error:
        name, raw = f"{parts['file'].get('study')}, as it was published", parts["file"]
        faults = issues_of(error, raw)
        raise StudyError(
            name,
            [
                *faults,
                ValidationIssue(
                    "", "it needs a package that is not installed, or another Parley published it with other keys"
                ),
            ],
        ) from error
    asked = {key: Instrument.model_validate(raw) for key, raw in parts.get("instruments", {}).items()}
    pools = {name: tuple(Problem.from_json(item) for item in items) for name, items in parts["problems"].items()}
    pictures = {key: Picture(**picture) for key, picture in parts.get("pictures", {}).items()}
    flow = _Inlined(file, read, read, asked).flow
    return replace(_study(file, flow, pools, document, asked), pictures=PictureMap(pictures))


def _study(
    file: StudyFile,
    flow: tuple[Node, ...],
    problems: Mapping[str, Sequence[Problem]],
    document: str,
    instruments: Mapping[str, Instrument],
) -> Study:
    dealt = {key: assign_groups(problems.get(key, ()), source.groups) for key, source in file.problems.items()}
    index = {(key, item.id): item for key, pool in dealt.items() for item in pool}
    factors = {**file.factors, **order_factors(flow, dealt)}
    flow = _completed(
        flow, instruments, file.memory, {*factors, *(name for wave in file.waves or () for name in wave.factors)}
    )
    return Study(file, flow, dealt, document, sha256(document.encode()).hexdigest(), factors, instruments, index)


def _completed(
    nodes: Sequence[Node],
    instruments: Mapping[str, Instrument],
    memory: MemorySpec | None,
    factors: Collection[str],
) -> tuple[Node, ...]:
    """The nodes with the items of instruments, and with the conditions that follow from the study's memory."""
    return tuple(
        _conditioned(node.with_instruments(instruments), memory, factors)
        if isinstance(node, Step)
        else node.model_copy(update={"flow": _completed(node.flow, instruments, memory, factors)})
        for node in nodes
    )


def _conditioned(step: Step, memory: MemorySpec | None, factors: Collection[str]) -> Step:
    own = step.when or {}
    more = {name: values for name, values in step.included(memory).items() if name in factors}
    for name, values in more.items():
        found = tuple(one for one in values if name not in own or one in as_words(own[name]))
        own = {**own, name: found[0] if len(found) == 1 else found}
    return step.model_copy(update={"when": own}) if more else step


def _instruments_in(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes_of(nodes):
        if isinstance(node, Step):
            yield from node.instruments()


def _plain(model: StrictModel) -> Json:
    """A file as plain JSON including all defaults, so that a changed default changes the study's hash."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _read(
    kind: str, model: type[M], wanted: Collection[str], files: Mapping[str, Json], issues: list[ValidationIssue]
) -> dict[str, M]:
    """The wanted files of a kind that can be read; the errors of the others are added to `issues`."""
    read: dict[str, M] = {}
    for name in sorted(wanted & files.keys()):
        try:
            read[name] = model.model_validate(files[name])
        except ValidationError as error:
            found = issues_of(error, files[name], model)
            issues += [replace(issue, place=f"{kind} {name}") for issue in found]
    return read


def named_protocols(file: StudyFile) -> set[str]:
    return {protocol_name(ref) for node in nodes_of(file.tree) for ref in protocol_refs(node)}


def protocol_refs(node: Node) -> tuple[str, ...]:
    return tuple(_refs(getattr(node, "do", None)).values())


def _refs(do: str | ByFactor | None) -> Mapping[str, str]:
    """The references to protocols, by the values of a factor that select them; by "" if there is only one."""
    return do.pick if isinstance(do, ByFactor) else {"": do} if do else {}


def protocol_name(ref: str) -> str:
    """The name in a reference `name@version`."""
    return ref.split("@")[0]


class _Inlined:
    """A flow with each `do` replaced by its protocol's steps; alternatives carry the condition that selects them."""

    def __init__(
        self,
        file: StudyFile,
        protocols: Mapping[str, ProtocolFile],
        known_protocols: Collection[str],
        known_instruments: Collection[str],
    ) -> None:
        self._protocols, self._known_protocols, self._known_instruments = protocols, known_protocols, known_instruments
        self.issues: list[ValidationIssue] = []
        self.flow = self._nodes(file.tree, file.root)

    def _add(self, where: str, message: str) -> None:
        self.issues.append(ValidationIssue(where, message))

    def _nodes(self, nodes: Sequence[Node], where: str) -> tuple[Node, ...]:
        return tuple(self._node(node, f"{where}[{number}]") for number, node in enumerate(nodes))

    def _node(self, node: Node, at: str) -> Node:
        if isinstance(node, Step):
            self._check_instruments((node,), at)
            return node
        flow, do = self._nodes(node.flow, f"{at}.flow"), getattr(node, "do", None)
        by = do.by if isinstance(do, ByFactor) else None
        chosen = {value: self._protocol(ref, f"{at}.do") for value, ref in _refs(do).items()}
        self._check_instruments([step for steps in chosen.values() for step in steps], f"{at}.do")
        changes, ids = getattr(node, "with_", {}), [step.id for steps in chosen.values() for step in steps]
        for name in changes if ids else ():
            if name not in ids:
                self._add(f"{at}.with", unknown("step of the protocol", name, ids))
        for value, steps in chosen.items():
            flow += self._changed(steps, changes, {by: value} if by else {}, f"{at}.with")
        return node.model_copy(update={"flow": flow})

    def _check_instruments(self, nodes: Sequence[Node], at: str) -> None:
        for name in dict.fromkeys(_instruments_in(nodes)):
            if name not in self._known_instruments:
                self._add(at, unknown("instrument", name, self._known_instruments))

    def _protocol(self, ref: str, where: str) -> tuple[Node, ...]:
        name, _, version = ref.partition("@")
        if name not in self._known_protocols:
            self._add(where, unknown("protocol", name, self._known_protocols))
        if name not in self._protocols:
            return ()
        found = self._protocols[name]
        if version and version != str(found.version):
            self._add(where, f"{name!r} is at version {found.version}, not {version!r}; write {name}@{found.version}")
        return found.flow

    def _changed(
        self, nodes: Sequence[Node], changes: Mapping[str, Any], condition: Mapping[str, str], where: str
    ) -> tuple[Node, ...]:
        done = []
        for node in nodes:
            raw = changes.get(node.id)
            if raw is False:
                continue
            if raw is not None and isinstance(node, Step):
                try:
                    node = type(node).model_validate({**node.model_dump(by_alias=True, exclude_unset=True), **raw})
                except ValidationError as error:
                    found = issues_of(error, raw, type(node))
                    self.issues += [replace(issue, where=f"{where}.{node.id}.{issue.where}") for issue in found]
            done.append(node.model_copy(update={"when": {**(node.when or {}), **condition} or None}))
        return tuple(done)


def assign_groups(problems: Sequence[Problem], groups: ProblemGroups | None) -> tuple[Problem, ...]:
    """The problems with their group as a tag: full groups only, in the pool's order."""
    if groups is None:
        return tuple(problems)
    tags: dict[str, str] = {}
    start = 0
    for value in dict.fromkeys(item.tags.get(groups.within) for item in problems):
        members = [item for item in problems if item.tags.get(groups.within) == value]
        found, count = _dealt(members, groups)
        tags |= {item: str(start + number) for item, number in found.items()}
        start += count if groups.numbered == "across" else 0
    return tuple(replace(p, tags={**p.tags, groups.tag: tags[p.id]}) if p.id in tags else p for p in problems)


def _dealt(problems: Sequence[Problem], groups: ProblemGroups) -> tuple[dict[str, int], int]:
    size = groups.size
    kinds = Counter(item.dataset for item in problems) if isinstance(size, dict) else {"": len(problems)}
    need = {kind: size.get(kind, 0) if isinstance(size, dict) else size for kind in kinds}
    count = min((kinds[kind] // n for kind, n in need.items() if n), default=0)
    seen: Counter[str] = Counter()
    numbers: dict[str, int] = {}
    for item in problems:
        kind = item.dataset if isinstance(size, dict) else ""
        if need[kind] and seen[kind] < count * need[kind]:
            numbers[item.id] = seen[kind] // need[kind]
            seen[kind] += 1
    return numbers, count
