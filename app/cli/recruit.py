"""`parley recruit`: open and close studies, quotas, budgets and links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli.commands import group
from app.cli.common import (
    STDOUT,
    DryRun,
    StudyName,
    ToFile,
    Where,
    Yes,
    argument,
    cell_of,
    existing_database,
    name_of,
    option,
    participants,
    published_study,
    settings_in_use,
    with_saved,
    write_csv,
)
from app.cli.printing import echo, show, warn
from app.clock import SystemClock
from app.errors import ArgumentInvalid
from app.use_cases.recruit import (
    MOST_LINKS,
    SIGNED,
    decide,
    personal_links,
    release_places,
    set_budget,
    set_quota,
    signed_links,
)
from experiments.plural import count as how_many
from experiments.session.study_status import Decision
from problems.text import read_text
from storage.accounts.roles import TERMINAL
from storage.payments.prolific import statuses
from storage.payments.prolific_export import read_prolific
from storage.registers.studies import Studies

if TYPE_CHECKING:
    from app.use_cases.prolific_study import ProlificView

commands = group("recruit")
Unlimited = Annotated[bool, option("--unlimited", "Remove the limit.")]
Reason = Annotated[str, option("--reason TEXT", "A note for researchers; participants do not see it.")]


@commands.command("pilot")
def pilot(study: StudyName) -> None:
    """Let participants start, as a pilot: exports leave out pilot data by default."""
    _decide(study, "piloted")


@commands.command("open")
def open_(study: StudyName) -> None:
    """Let participants start, and count their data: of a study that is published, piloted, paused or closed."""
    _decide(study, "opened")


@commands.command("pause")
def pause(study: StudyName, reason: Reason = "paused") -> None:
    """Stop new sessions for a while; running sessions continue. `parley recruit open` ends the pause."""
    _decide(study, "paused", reason)


@commands.command("close")
def close(study: StudyName, reason: Reason = "closed") -> None:
    """Stop new sessions for good; running sessions continue. `parley recruit open` opens the study again."""
    _decide(study, "closed", reason)


def _decide(study: str, decision: Decision, why: str = "") -> None:
    database, found = published_study(study)
    now = decide(database, found.name, decision, TERMINAL, SystemClock(), why)
    echo(f"{found.name}: {now.state}.")
    if now.published is None:
        warn(f"No version of {found.name} is published yet: parley publish FILE")


@commands.command("quota")
def quota(
    study: StudyName,
    most: Annotated[int | None, argument("N", "The new quota; 0 stops new sessions.", min=0)] = None,
    where: Where = None,
    unlimited: Unlimited = False,
) -> None:
    """Set the participant quota of a study or cell: of those who completed the study or take part in it.

    `parley show quotas` shows all.
    """
    _require_limit(most, unlimited)
    database, found = published_study(study)
    set_quota(database, found, cell_of(found, where), most, TERMINAL, SystemClock())
    echo(f"{found.name}: {'no quota' if most is None else 'at most ' + how_many(most, 'participant')}.")


@commands.command("budget")
def budget(
    study: StudyName,
    amount: Annotated[float | None, argument("AMOUNT", "The new budget.", min=0)] = None,
    where: Where = None,
    unlimited: Unlimited = False,
) -> None:
    """Set the model budget of a study or cell. When it is spent or reserved for running sessions, no new session can
    start. Running sessions continue.

    `parley show costs` shows what is left.
    """
    _require_limit(amount, unlimited)
    database, found = published_study(study)
    set_budget(database, found, cell_of(found, where), amount, TERMINAL, SystemClock())
    echo(f"{found.name}: {'no budget' if unlimited else f'{amount:,.2f} {found.file.currency}'}.")


def _require_limit(given: float | None, unlimited: bool) -> None:
    if (given is None) != unlimited:
        raise ArgumentInvalid("Give either the new limit or --unlimited.")


@commands.command("links")
def links(
    study: StudyName,
    count: Annotated[int, option("-n --count N", "Number of links.", min=1, max=MOST_LINKS)] = 10,
    prefix: Annotated[str, option("--prefix TEXT", "The beginning of each label; a number follows.")] = "P",
    sign: Annotated[
        Path | None, option("--ids FILE", "Create signed links for the recruiter's IDs in this file, one a line.")
    ] = None,
    recruiter: Annotated[
        str, option("--recruiter NAME", f"With --ids: {', '.join(SIGNED)}. Default: the study's recruiter.")
    ] = "",
    to: ToFile = STDOUT,
) -> None:
    """Create links that give one participant one session, from any device, and prove who they are; as csv.

    A link admits anyone who has it as that participant. The same labels and IDs always give the same links.
    """
    database, people = participants()
    found, address = Studies(database).newest(name_of(study)), settings_in_use().address
    if sign is None:
        made = personal_links(people, found, address, count, prefix)
    else:
        made = signed_links(people, found, address, read_text(sign), recruiter)
    write_csv(to, [("label" if sign is None else "id", "link"), *made])


@commands.command("release")
def release_(
    study: StudyName,
    export: Annotated[Path, argument("FILE", "Prolific's export of the study, a csv file.")],
) -> None:
    """Free the places of submissions that were returned, timed out or rejected at Prolific, so that others can
    start."""
    database, people = participants()
    name = Studies(database).newest(name_of(study)).name
    freed = release_places(database, people, name, statuses(read_prolific(export)), TERMINAL, SystemClock())
    echo(str(freed))


@commands.command("prolific")
def prolific(
    study: StudyName,
    act: Annotated[
        Literal["show", "draft", "publish", "pause", "start", "stop", "places"],
        argument("ACTION", "show, draft, publish, pause, start, stop, or places (raise them to the quota)."),
    ] = "show",
    agreed: Annotated[
        str, option("--sum AMOUNT", "With publish and places: the sum of money, instead of typing it when asked.")
    ] = "",
    dry: DryRun = False,
    yes: Yes = False,
) -> None:
    """Compare a study with its draft or study at Prolific; create, change and publish it by Prolific's API.

    Nothing is sent before it is shown. Publishing and more places spend money, so you type the sum.
    """
    from app.recruiters.prolific import prolific_client
    from app.use_cases.prolific_study import StudyAtProlific  # httpx2 and numpy take 0.2 s

    settings, database = with_saved(settings_in_use())
    database = database or existing_database(settings)
    found = Studies(database).newest(name_of(study))
    with prolific_client(settings) as client:
        at_prolific = StudyAtProlific(client, database, settings, found, SystemClock(), TERMINAL)
        view = at_prolific.look()
        _show_at_prolific(view)
        if dry or act == "show":
            return
        if act in ("publish", "places") and view.due.cents and not agreed:
            agreed = typer.prompt(f"This spends {view.due}. Type the amount to agree", err=True)
        elif act in ("draft", "stop") and not yes:
            typer.confirm("Go on?", abort=True, err=True)
        view = at_prolific.act(act, agreed)
    echo(f"{found.name} at Prolific: {view.status}.")


def _show_at_prolific(view: ProlificView) -> None:
    rows = [dict(zip(("field", "now", "wanted"), one.as_text, strict=True)) for one in view.changes]
    show({"at_prolific": view.status, "differences": rows, "needed_first": view.lacks}, as_json=False)
    for sentence in view.money:
        echo(sentence)


@commands.command("webhook")
def webhook() -> None:
    """Have Prolific send changes of submissions to this server, so that places are free at once."""
    from app.use_cases.prolific_study import subscribe_webhook

    echo(f"Prolific sends changes of submissions to {subscribe_webhook(with_saved(settings_in_use())[0])}.")
