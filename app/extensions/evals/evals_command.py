"""The commands that write people's sessions for frameworks that evaluate models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from app.cli.commands import group
from app.cli.common import StudyName, existing_database, name_of, option
from app.cli.printing import echo, warn
from app.clock import SystemClock
from app.extensions.evals.inspect import log_values, write_log, write_scores
from app.extensions.evals.samples import human_samples
from app.extensions.evals.tau2 import task_results, write_results
from app.use_cases.export import peek_by_export
from experiments.plural import count as how_many
from storage.accounts.roles import TERMINAL
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.tidy.columns import NAME as TIDY
from storage.db.engine import Database
from storage.registers.studies import Studies

OriginOption = Annotated[str | None, option("--origin ORIGIN", "Of these sessions. Default: as `parley export`.")]
commands = group("evals")


@commands.command("inspect")
def inspect(
    study: StudyName,
    out: Annotated[Path, option("-o --out FOLDER", "The folder for the files of scores, one for each question.")],
    log: Annotated[
        Path | None, option("--log FILE", "Write a log of all sessions too: FILE.eval or FILE.json.")
    ] = None,
    origin: OriginOption = None,
) -> None:
    """Scores for `precomputed_scores`, and a log for `inspect view`. People are the epochs of a problem."""
    database, name, now_us = existing_database(), name_of(study), SystemClock().now_us()
    request = ExportRequest(name, TIDY, origin)
    samples = human_samples(database, request)
    _tell_peek(database, request, now_us)
    out.mkdir(parents=True, exist_ok=True)
    for file, number in write_scores(samples, out):
        echo(f"{file}: {how_many(number, 'score')}")
    if log is not None:
        version = Studies(database).newest(name).file.version
        write_log(log_values(name, version, samples, now_us), log)
        echo(f"{log}: {how_many(len(samples), 'sample')}")


@commands.command("tau2")
def tau2(
    study: StudyName,
    out: Annotated[Path, option("-o --out FOLDER", "The folder for the files of results, one for each condition.")],
    origin: OriginOption = None,
) -> None:
    """Conversations about tasks as results of tau2-bench, for `tau2 evaluate-trajs`. People are the user, and the
    trials of a task."""
    database, now_us = existing_database(), SystemClock().now_us()
    request = ExportRequest(name_of(study), TIDY, origin)
    found = task_results(database, request, now_us)
    _tell_peek(database, request, now_us)
    for file, number in write_results(found, out):
        echo(f"{file}: {how_many(number, 'simulation')}")


def _tell_peek(database: Database, request: ExportRequest, now_us: int) -> None:
    if looked := peek_by_export(database, request, TERMINAL, now_us):
        warn(looked)
