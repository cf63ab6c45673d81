"""The command that runs simulated participants through a study."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from shlex import quote
from typing import Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.backends.model_ref import parse_model_ref
from app.bots.run_many import SimulationRun, StoppedSession, clock_for_each, run_simulations, settings_for
from app.bots.simulate import arrivals, stream_of
from app.bots.user_config import TEMPERATURE, read_user_config
from app.bots.users.registry import USERS
from app.cli.commands import command
from app.cli.common import StudyFile, err, out, settings_in_use
from app.cli.study import calls_servers, confirm_cost
from app.clock import SystemClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.studies.loader import load_study
from experiments.study.study import Study
from storage.datasets.describe.markdown import count as how_many
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database
from storage.log.seats import outcomes
from storage.registers.origins import Origin
from storage.registers.publication_metadata import record_dataset_info
from storage.reports.monitoring.models import ModelCallSummary, used

AT_ONCE = 16
"""Sessions at a time, if models are called that take time."""
MOST_TOLD = 5
FIRST = 3
"""If so many sessions stop first, all for one fault of a connection, the others would wait for it just as long."""


@command("simulate")
def simulate_(
    study: StudyFile,
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, max=1_000_000, help="Number of simulated participants.")
    ] = 10,
    seed: Annotated[
        str,
        typer.Option(metavar="SEED", help="The same seed gives the same sessions; byte for byte if no server is used."),
    ] = "1",
    user: Annotated[str, typer.Option(metavar="KIND", help=f"The kind of user: {', '.join(USERS.all())}.")] = "random",
    user_model: Annotated[
        str,
        typer.Option(
            metavar="MODEL", help="The model that speaks for the users: one of the study, or BACKEND:NAME[@SERVER]."
        ),
    ] = "",
    user_temperature: Annotated[
        float | None, typer.Option(metavar="T", help=f"Its temperature. Default: {TEMPERATURE:g}.", min=0, max=2)
    ] = None,
    personas: Annotated[
        str,
        typer.Option(metavar="FILE", help="The personas of the users: a YAML file of texts, or one persona as text."),
    ] = "",
    models: Annotated[
        Literal["scripted", "study"],
        typer.Option(
            metavar="MODELS",
            help="Who replies: scripted, in place of models at servers, which costs nothing, or the study's models.",
        ),
    ] = "scripted",
    yes: Annotated[bool, typer.Option("--yes", help="Ask for no confirmation.")] = False,
    concurrency: Annotated[
        int,
        typer.Option(
            metavar="N",
            help=f"Sessions at a time. 0: {AT_ONCE} with --models study or a user's model, else 1.",
            min=0,
            max=1000,
        ),
    ] = 0,
) -> None:
    """The sessions need no browser and no server.

    You can stop at any time: the same command continues where it stopped.
    """
    settings = settings_in_use()
    found = load_study(study)
    speaker = parse_model_ref(found, user_model) if user_model else None
    paid = calls_servers(found)
    who = read_user_config(user, speaker, personas, user_temperature, scripted=paid and models == "scripted")
    called = speaker is not None or (paid and not who.scripted)
    crowd = SimulationRun(found, who, count, seed, concurrency or (AT_ONCE if called else 1))
    done, database = _Done(), open_database(settings.database_url)
    if paid and not who.scripted and (left := _left(database, crowd)):
        if speaker:
            out.print(f"The estimate is without {speaker.label}, which speaks for the users.", markup=False)
        confirm_cost(found, left, confirmed=yes)
    before = _usage(database, found)
    try:
        asyncio.run(_play(database, settings_for(settings), crowd, done))
    except KeyboardInterrupt:
        _print_stopped(done, study)
        raise
    finally:
        if called:
            _print_usage(found, done, before, _usage(database, found))
        database.dispose()
    if done.unreached:
        _print_stopped(done, study)
        raise typer.Exit(1)
    played = "" if user == "random" else f" by {user}" + (f" with {speaker.label}" if speaker else "")
    number = count - len(done.stopped)
    are = f"{'is' if number == 1 else 'are'} complete ({how_many(done.clicks, 'click')})"
    complete = f"{how_many(number, 'session')} of {found.name}{played} {are}"
    out.print(f"{complete}, in {redact_password(settings.database_url)}", highlight=False)
    if done.stopped:
        _print_stopped(done, study)
        raise typer.Exit(1)


@dataclass
class _Done:
    ended: int = 0
    clicks: int = 0
    stopped: list[StoppedSession] = field(default_factory=list)
    unreached: str = ""
    """The fault of a connection for which the first sessions stopped, so that no others were begun."""


async def _play(database: Database, settings: Settings, crowd: SimulationRun, done: _Done) -> None:
    clocks = clock_for_each(crowd.study, crowd.cast)
    runtime = SessionService(database, settings, clocks)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        runtime.studies.register(crowd.study)
        now_us = SystemClock().now_us()
        record_dataset_info(database, crowd.study.name, crowd.study.file.dataset, by="system", at_us=now_us, once=True)
        for model in crowd.cast.called(crowd.study):
            runtime.check_configured(model)
        with Progress(*columns, console=err) as bar:
            task = bar.add_task(f"{crowd.study.name}: simulated sessions", total=crowd.count)
            async with aclosing(run_simulations(runtime, clocks, crowd)) as sessions:
                async for one in sessions:
                    if isinstance(one, StoppedSession):
                        done.stopped.append(one)
                        bar.update(task, description=f"{crowd.study.name}: {len(done.stopped)} stopped")
                    else:
                        done.clicks += one.clicks
                        done.ended += 1
                    bar.advance(task)
                    faults = [stopped.unreached for stopped in done.stopped]
                    if not done.ended and len(faults) == FIRST and len({*faults}) == 1 and faults[0]:
                        done.unreached = faults[0]
                        break
    finally:
        await runtime.close()


def _left(database: Database, crowd: SimulationRun) -> int:
    """The number of its sessions that have not ended yet."""
    known = outcomes(database, crowd.study.name, Origin.BOT)
    labels = (label for label, _ in arrivals(crowd.study, crowd.count, crowd.seed, crowd.cast))
    return sum(known.get(stream_of(label)) is None for label in labels)


def _usage(database: Database, study: Study) -> Mapping[str, ModelCallSummary]:
    """The use of each model in the study's simulated sessions so far."""
    with database.connect() as connection:
        return {model.model: model for model in used(connection, study.name, Origin.BOT)}


def _print_usage(
    study: Study, done: _Done, before: Mapping[str, ModelCallSummary], after: Mapping[str, ModelCallSummary]
) -> None:
    """Print how many sessions have ended or stopped in this run, and the calls, tokens and cost of each model."""
    out.print(f"{how_many(done.ended, 'session')} ended, {len(done.stopped):,} stopped.", highlight=False)
    for name, now in after.items():
        calls, read, written, cost, unknown = (
            getattr(now, field) - getattr(before.get(name), field, 0)
            for field in ("calls", "prompt_tokens", "completion_tokens", "cost", "unknown")
        )
        if calls:
            paid = f"{cost:,.4f} {study.file.currency}" + (f" and {unknown:,} of unknown cost" if unknown else "")
            tokens = f"{read:,} tokens read, {written:,} written"
            out.print(f"  {name}: {how_many(calls, 'call')}, {tokens}, {paid}", markup=False, highlight=False)


def _print_stopped(done: _Done, study: str) -> None:
    """Print which sessions stopped and why, if any did."""
    if not done.stopped:
        return
    out.print(f"[red]{how_many(len(done.stopped), 'session')} stopped[/red]; the same command continues them.")
    for one in done.stopped[:MOST_TOLD]:
        out.print(f"  {one.stream}: {one.why}", markup=False, highlight=False)
    if len(done.stopped) > MOST_TOLD:
        out.print(f"  and {len(done.stopped) - MOST_TOLD} more; `parley model-calls` shows the calls")
    if done.unreached:
        out.print("The first sessions all stopped for this, so no others were begun.", highlight=False)
    if any(one.unreached for one in done.stopped):
        out.print(f"Test the models: parley models test {quote(study)}", markup=False, highlight=False, soft_wrap=True)
