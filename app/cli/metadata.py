"""The command for the publication metadata of a study's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from app.cli.commands import command
from app.cli.common import AsJson, StudyName, existing_database, name_of, out, print_json, settings_in_use
from app.clock import SystemClock
from app.studies.loader import read_yaml
from experiments.errors import StudyError, suggestion
from experiments.study.checks.validation_errors import issues_of
from experiments.study.sections.dataset_info import DatasetInfo
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.publication_metadata import dataset_info_of, record_dataset_info
from storage.registers.studies import Studies
from storage.yaml_text import yaml_text


@command("metadata")
def metadata_(
    study: StudyName,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A YAML file with the key `dataset`, such as the study file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """With a file: records its `dataset:` as the metadata of the study's data, whatever version is published.

    Without one: prints the recorded metadata. Works for imported data as well.
    """
    database = existing_database(settings_in_use())
    name = name_of(study)
    _check_exists(database, name)
    if file is not None:
        new = record_dataset_info(database, name, _read(file), by="researcher", at_us=SystemClock().now_us())
        done = "recorded" if new else "recorded already"
        out.print(f"The publication metadata of {name} are {done}; its next export has them.", highlight=False)
        return
    info = dataset_info_of(database, name)
    if as_json:
        print_json(_given_values(info))
    elif info is None:
        out.print(f"{name} has no publication metadata: parley metadata {name} FILE", highlight=False)
    else:
        out.print(yaml_text({"dataset": _given_values(info)}), markup=False, highlight=False, soft_wrap=True, end="")


def _given_values(info: DatasetInfo | None) -> dict[str, Any]:
    """The metadata that are given."""
    return info.model_dump(mode="json", exclude_defaults=True) if info else {}


def _check_exists(database: Database, name: str) -> None:
    known = Studies(database).names()
    if name not in known:
        raise StorageError(f"the database has no study {name!r}{suggestion(name, known)}")


class _DatasetFile(BaseModel):
    """A file with metadata; its other keys do not matter here."""

    dataset: DatasetInfo


def _read(path: Path) -> DatasetInfo:
    """The metadata in a file; raises StudyError with every error."""
    raw = read_yaml(path)
    if raw.get("dataset") is None:
        raise StorageError(f"{path} has no key `dataset`. docs/reference/study.md lists what it can hold")
    try:
        return _DatasetFile.model_validate(raw).dataset
    except ValidationError as error:
        raise StudyError(str(path), issues_of(error, raw)) from None
