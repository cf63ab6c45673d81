"""One's own studies as templates: a copy of a draft, or a draft of a published study, with everything it needs.

A published study is kept as one document, without the files it was made of. Its draft gets files again: the items of
each pool as JSON lines, its translations, its pictures, and protocols and instruments that are not Parley's own.
Comments are not in a document.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any
from urllib.parse import unquote

from app.studies.drafts import Drafts, save_draft, under_name
from app.studies.loader import FILE, PROTOCOLS, read_instruments, read_protocols
from experiments.study.instrument import Instrument
from experiments.study.schema import ProtocolFile
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.pools import load_pool
from problems.registry import SAMPLE
from storage.registers.studies import StoredPicture
from storage.yaml_text import yaml_text

KINDS = ("step", "type")
"""Keys that tell the kinds of a part apart, which are written even where a kind has only one value for them."""
_PARTS: Mapping[str, Any] = {"mode": "json", "by_alias": True, "exclude_none": True}


def copy_draft(drafts: Drafts, name: str, other: str) -> None:
    """A new draft with the text and the files of another one; raises StudyError."""
    text = drafts.text(other)
    folder = drafts.reserve(name)
    copytree(drafts.folder(other), folder, symlinks=True, ignore=ignore_patterns(".*", FILE), dirs_exist_ok=True)
    save_draft(folder / FILE, under_name(text, name))


def draft_of(drafts: Drafts, name: str, study: Study, picture: Callable[[str], StoredPicture | None]) -> None:
    """A new draft of a published study; raises StudyError. Under the study's own name its version stays as it is.
    `picture` gives a picture by its SHA-256."""
    folder = drafts.reserve(name)
    document = json.loads(study.document)
    raw = _without_defaults(document["file"], study.file.model_dump(**_PARTS, exclude_defaults=True))
    pools = {pool: dict(_pool(folder, pool, given, document["problems"][pool])) for pool, given in _sources(raw)}
    parts = raw | ({"problems": pools} if pools else {})
    if translations := raw.get("translations"):
        parts["translations"] = {tag: f"{tag}.yaml" for tag in translations}
        for tag, texts in translations.items():
            _write(folder / f"{tag}.yaml", yaml_text(texts))
    for protocol, written in document["protocols"].items():
        if written != _own_protocols().get(protocol):
            (folder / "protocols").mkdir(exist_ok=True)
            _write(folder / "protocols" / f"{protocol}.yaml", yaml_text(written))
    for instrument, written in document.get("instruments", {}).items():
        if written != _own_instruments().get(instrument):
            (folder / "instruments").mkdir(exist_ok=True)
            _write(folder / "instruments" / f"{instrument}.yaml", yaml_text(written))
    _write_pictures(folder, study, picture)
    text = yaml_text(parts)
    save_draft(folder / FILE, text if name == study.name else under_name(text, name))


def _without_defaults(full: Any, changed: Any) -> Any:
    """What differs from the defaults, with the keys that say of which kind a part is."""
    if isinstance(full, dict):
        return {
            key: _without_defaults(value, changed[key]) if key in changed else value
            for key, value in full.items()
            if key in changed or key in KINDS
        }
    return [*map(_without_defaults, full, changed)] if isinstance(full, list) else full


def _sources(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from raw.get("problems", {}).items()


def _pool(
    folder: Path, pool: str, given: Mapping[str, Any], problems: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """A pool as it was written if it reads no file of the study's, or else with its problems in a file."""
    if "items" in given or _is_sample(pool, given, problems):
        yield from given.items()
        return
    file = f"{pool}.jsonl"
    _write(folder / file, "".join(f"{json.dumps(problem, ensure_ascii=False)}\n" for problem in problems))
    yield from {"source": "jsonl", "path": file}.items()
    yield from ((key, value) for key, value in given.items() if key == "groups")


def _is_sample(pool: str, given: Mapping[str, Any], problems: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the pool is a sample that still comes with Parley as it was."""
    if str(given.get("path", SAMPLE)).partition("/")[0] != SAMPLE:
        return False
    try:
        return [problem.to_json() for problem in load_pool(given, pool, PROTOCOLS)] == problems
    except ProblemError:
        return False


def _write_pictures(folder: Path, study: Study, picture: Callable[[str], StoredPicture | None]) -> None:
    for key, shown in study.pictures.by_key.items():
        path = (folder / unquote(key)).resolve()
        found = None if key.startswith("data-") else picture(shown.sha256)
        if found and path.is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found.content)


def _own_protocols() -> dict[str, Any]:
    read = read_protocols(PROTOCOLS)
    return {name: ProtocolFile.model_validate(raw).model_dump(**_PARTS) for name, raw in read.items()}


def _own_instruments() -> dict[str, Any]:
    read = read_instruments(PROTOCOLS)
    return {name: Instrument.model_validate(raw).model_dump(**_PARTS) for name, raw in read.items()}


def _write(path: Path, text: str) -> None:
    """A file of a draft that nobody reads before its study file is there."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
