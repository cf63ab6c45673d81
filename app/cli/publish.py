"""The commands that create and publish studies, and describe their data: new, publish, metadata."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

from pydantic import BaseModel, ValidationError

from app.cli.commands import command
from app.cli.common import (
    StudyFile,
    StudyName,
    argument,
    existing_database,
    name_of,
    option,
    settings_in_use,
    with_saved,
)
from app.cli.printing import echo, warn
from app.cli.show import require_known
from app.clock import SystemClock
from app.studies.drafts import create_draft
from app.studies.loader import load_study, read_yaml, shipped
from app.use_cases.remind import unsendable_reminders
from app.use_cases.studies import publish_study
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.checks.waves_check import past_openings
from experiments.study.sections.dataset_info import DatasetInfo
from storage.db.engine import open_database
from storage.errors import StorageError
from storage.registers.study_status import record_dataset_info

SHORT = 12
NEXT = {
    "published": "No session can start yet. Next: parley recruit pilot {name}, or parley recruit open {name}",
    "pilot": "New sessions get this version, as pilot data.",
    "open": "New sessions get this version.",
    "paused": "The study is paused. New sessions get this version once it is opened again.",
    "closed": "The study is closed. New sessions get this version if it is opened again.",
}
STAY = "Who has begun stays with the version of their first wave, in all waves."


@command("new")
def new(
    folder: Annotated[Path, argument("FOLDER", "The folder to create; its name is the study's name.")],
    template: Annotated[str, option("--template STUDY", f"The study to copy: {', '.join(shipped())}.")] = "demo",
) -> None:
    """Writes FOLDER/study.yaml, with comments, and its other files."""
    path = create_draft(folder, template)
    echo(f"Created {path}. Next:")
    for name in ("check", "serve"):
        echo(f"  parley {name} {quote(str(path))}", "bold")


@command("publish")
def publish_(file: StudyFile) -> None:
    """New sessions get this version; running sessions, and people in all their waves, keep theirs. `dataset:` becomes
    the metadata of its data."""
    study = load_study(file)
    settings, database = with_saved(settings_in_use())
    database = database or open_database(settings.database_url)
    done = publish_study(database, settings, study, SystemClock())
    label = f"{study.name}, version {study.file.version} ({done.hash[:SHORT]})"
    echo(f"{label} is {'published' if done.new else 'the current version already'}.")
    if done.others:
        warn(
            f"A different file was published as version {study.file.version} before: increase `version:` with each "
            "change to tell versions apart."
        )
    for words in (*map(" ".join, unsendable_reminders(study, settings)), *past_openings(study, SystemClock().now_us())):
        warn(words)
    echo(NEXT[done.state].format(name=study.name))
    if study.waves:
        echo(STAY)


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
    dataset: DatasetInfo


def _read(path: Path) -> DatasetInfo:
    raw = read_yaml(path)
    if raw.get("dataset") is None:
        raise StorageError(f"{path} has no key `dataset`. docs/reference/study.md lists what it can hold")
    try:
        return _DatasetFile.model_validate(raw).dataset
    except ValidationError as error:
        raise StudyError(str(path), issues_of(error, raw)) from None
