"""The command that runs simulated participants through a study."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from app.backends.model_ref import parse_model_ref
from app.bots.run_many import SimulationRun
from app.bots.simulate import arrivals, stream_of
from app.bots.user_config import LATE, NEVER, TEMPERATURE, read_user_config
from app.bots.users.registry import USERS
from app.cli.check import ModelsThatReply, confirm_cost
from app.cli.commands import command
from app.cli.common import AnyStudy, Seed, Yes, any_study, option, settings_in_use
from app.cli.printing import echo, followed, show
from app.errors import ModelUnreached
from app.use_cases.simulate import SimulationProgress, calls_servers
from app.use_cases.simulate import simulate as play
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database
from storage.log.seats import outcomes
from storage.registers.origins import Origin

AT_ONCE = 16


UserModel = Annotated[
    str,
    option("--user-model MODEL", "The model that speaks for the users: one of the study, or BACKEND:NAME[@SERVER]."),
]


@command("simulate")
def simulate(
    study: AnyStudy,
    count: Annotated[int, option("-n --count N", "Number of simulated participants.", min=1, max=1_000_000)] = 10,
    seed: Seed = "1",
    user: Annotated[str, option("--user KIND", f"The kind of user: {', '.join(USERS.all())}.")] = "random",
    user_model: UserModel = "",
    user_temperature: Annotated[
        float | None, option("--user-temperature T", f"Its temperature. Default: {TEMPERATURE:g}.", min=0, max=2)
    ] = None,
    late: Annotated[
        float, option("--late SHARE", "Of studies with waves: the share that comes late.", min=0, max=1)
    ] = LATE,
    never: Annotated[float, option("--never SHARE", "The share that does not come to a wave.", min=0, max=1)] = NEVER,
    models: ModelsThatReply = "scripted",
    yes: Yes = False,
    concurrency: Annotated[
        int,
        option(
            "--concurrency N",
            f"Sessions at a time. 0: {AT_ONCE} with --models study or a user's model, else 1.",
            min=0,
            max=1000,
        ),
    ] = 0,
) -> None:
    """A seed gives the sessions that it gave before; byte for byte if no server is used.

    Repeat the command to continue a run that was stopped.
    """
    settings = settings_in_use()
    found = any_study(study, settings)
    speaker = parse_model_ref(found, user_model) if user_model else None
    paid = calls_servers(found)
    scripted = paid and models == "scripted"
    who = read_user_config(user, speaker, user_temperature, scripted=scripted, late=late, never=never)
    called = speaker is not None or (paid and not who.scripted)
    crowd = SimulationRun(found, who, count, seed, concurrency or (AT_ONCE if called else 1))
    done, database = SimulationProgress(crowd), open_database(settings.database_url)
    if paid and not who.scripted and (left := _left(database, crowd)):
        if speaker:
            echo(f"The estimate is without {speaker.label}, which speaks for the users.")
        confirm_cost(found, left, confirmed=yes)
    try:
        with followed(found.name, transient=False) as done.tell:
            asyncio.run(play(database, settings, done))
    except (KeyboardInterrupt, ModelUnreached):
        show(done.told, False)
        raise
    finally:
        database.dispose()
    show(done.told, False)
    echo(f"They are sessions of {found.name} in {redact_password(settings.database_url)}.")
    if called:
        echo(f"Costs of the models: parley show costs {found.name}")
    if done.stopped:
        raise typer.Exit(1)


def _left(database: Database, run: SimulationRun) -> int:
    known = outcomes(database, run.study.name, Origin.BOT)
    labels = (label for label, _ in arrivals(run.study, run.count, run.seed, run.cast))
    return sum(known.get(stream_of(label)) is None for label in labels)
