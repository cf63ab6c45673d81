"""Write the DOI of a deposit back: into the `dataset` of a study file, and into the metadata recorded for the study.

`dataset` is no part of a study's document or hash (docs/decisions/0012-publication-metadata.md), so neither changes a
version that people take part in. A DOI that is there already is not replaced.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML, MappingNode, Node

from app.errors import DepositError
from app.studies.loader import read_yaml
from experiments.study.sections.dataset_info import DatasetInfo
from problems.errors import ParleyError
from storage.db.engine import Database
from storage.db.private_files import write_private
from storage.registers.publication_metadata import dataset_info_of, record_dataset_info

KEY = "doi"


def record_doi(database: Database, study: str, doi: str, at_us: int) -> str:
    """Record the DOI in the metadata of a study; returns the DOI that they have now, which may be an earlier one."""
    info = dataset_info_of(database, study)
    if info is not None and info.doi:
        return info.doi
    given = info.model_dump(mode="json", exclude_defaults=True) if info else {}
    record_dataset_info(database, study, DatasetInfo.model_validate({**given, KEY: doi}), by="researcher", at_us=at_us)
    return doi


def write_doi(file: Path, doi: str) -> str:
    """Write the DOI into a study file, and change nothing else in it; returns the DOI that it has now, which may be an
    earlier one. Raises DepositError if the file is not written in a way that allows it, and says what to add where."""
    before = read_yaml(file)
    dataset = before.get("dataset") or {}
    if dataset.get(KEY):
        return str(dataset[KEY])
    text = file.read_bytes().decode("utf-8")  # line ends stay as they are
    part = file.with_name(f".{file.name}.unfinished")
    part.write_text(_with_doi(text, doi), encoding="utf-8", newline="")
    part.chmod(file.stat().st_mode)
    try:
        if not _holds(part, {**before, "dataset": {**dataset, KEY: doi}}):
            raise DepositError(
                f"{file}: the DOI could not be written there. Add this line by hand, below `dataset:`: `doi: {doi}`"
            )
        write_private(part, file)
    finally:
        part.unlink(missing_ok=True)
    return doi


def _holds(file: Path, wanted: dict[str, Any]) -> bool:
    try:
        return read_yaml(file) == wanted
    except ParleyError:
        return False


def _with_doi(text: str, doi: str) -> str:
    """The text of a study file with the DOI as the first key of `dataset`, in its indentation, or with a `dataset` at
    its end. Nothing else of the text changes, which writing it anew by any library would not promise."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _value_of(YAML(typ="rt", pure=True).compose(text), "dataset")
    if isinstance(found, MappingNode) and found.value and not found.flow_style:
        mark = found.value[0][0].start_mark
        return f"{text[: mark.index]}{KEY}: {doi}{newline}{' ' * mark.column}{text[mark.index :]}"
    end = "" if text.endswith("\n") or not text else newline
    return f"{text}{end}dataset:{newline}  {KEY}: {doi}{newline}"


def _value_of(node: Node | None, name: str) -> Node | None:
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)
