"""The command that records the publication metadata of a study's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ValidationError

from app.cli.commands import command
from app.cli.common import StudyName, argument, existing_database, name_of
from app.cli.printing import echo
from app.cli.show import require_known
from app.clock import SystemClock
from app.studies.loader import read_yaml
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.sections.dataset_info import DatasetInfo
from storage.errors import StorageError
from storage.registers.publication_metadata import record_dataset_info


@command("metadata")
def metadata(
    study: StudyName,
    file: Annotated[Path, argument("FILE", "A YAML file with the key `dataset`, such as the study file.")],
) -> None:
    """Its `dataset:` describes the study's data from the next export on, whatever version is published; imported data
    as well."""
    database, name = existing_database(), name_of(study)
    require_known(database, name)
    new = record_dataset_info(database, name, _read(file), by="researcher", at_us=SystemClock().now_us())
    echo(f"The publication metadata of {name} are recorded{'' if new else ' already'}.")


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
