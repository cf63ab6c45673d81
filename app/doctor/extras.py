"""Optional packages that the settings and studies use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from app.config.settings import Settings, env_name
from app.doctor.finding import Deployment, Diagnosis, error, ok, warning
from experiments.study.study import Study
from problems.errors import install_line
from storage.db.database_url import sqlite_path


def check_extras(deployment: Deployment) -> Iterator[Diagnosis]:
    """Whether each package that is used is installed; a study whose files need one cannot be loaded without it."""
    needed = {*_by_settings(deployment.settings), *_by_studies(deployment.studies)}
    for extra, package, user, fails in sorted(needed):
        if find_spec(package) is not None:
            yield ok(f"{package} is installed, which {user} needs.")
        else:
            level = error if fails else warning
            yield level(f"{user} needs the package {package}, which is not installed.", install_line(extra))
    if not needed:
        yield ok("No optional package is needed.")


def _by_settings(settings: Settings) -> Iterator[tuple[str, str, str, bool]]:
    """Extra, package, what uses it, and whether that fails without it."""
    if sqlite_path(settings.database_url) is None:
        yield "postgres", "psycopg", env_name("database_url"), True
    if settings.metrics_port is not None:
        yield "metrics", "prometheus_client", env_name("metrics_port"), True


def _by_studies(studies: tuple[Study, ...]) -> Iterator[tuple[str, str, str, bool]]:
    for study in studies:
        if "chatbench" in study.file.export_schemas:
            yield "analysis", "statsmodels", f"the mixed model in reports of {study.name}", False
