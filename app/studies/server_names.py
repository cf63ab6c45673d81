"""The model servers that a study names, and the settings lack."""

from __future__ import annotations

from collections.abc import Iterator

from app.config.settings import Settings
from app.errors import SettingsError
from experiments.errors import ValidationIssue
from experiments.study.study import Study


def named_servers(study: Study) -> dict[str, str]:
    """The servers by place in the study file: of models, and of annotators (`backend:name@server`)."""
    found = {f"models.{name}.server": model.server for name, model in study.file.models.items() if model.server}
    for name, annotator in (study.file.annotators or {}).items():
        if annotator.model not in study.file.models and "@" in annotator.model:
            found[f"annotators.{name}.model"] = annotator.model.rpartition("@")[2]
    return found


def server_faults(study: Study, settings: Settings) -> Iterator[ValidationIssue]:
    for where, name in named_servers(study).items():
        try:
            settings.server(name)
        except SettingsError as fault:
            yield ValidationIssue(where, str(fault))
