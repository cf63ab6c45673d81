"""`parley recruit`: whether participants can start a study, how many, for how much money, and by which links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from app.cli.commands import group
from app.cli.common import (
    STDOUT,
    StudyName,
    ToFile,
    Where,
    argument,
    cell_of,
    name_of,
    option,
    participants,
    published_study,
    settings_in_use,
    write_csv,
)
from app.cli.printing import echo, warn
from app.clock import SystemClock
from app.errors import ArgumentInvalid, SettingsError
from app.web.participant.link_ids import ID, clean_id
from app.web.participant.recruiter_links import LAB, SIGNED, signed
from experiments.errors import suggestion
from experiments.session.study_status import Decision
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.text import read_text
from storage.db.engine import writer
from storage.log.seats import release
from storage.payments.prolific import OVER, PROLIFIC, statuses
from storage.payments.prolific_export import read_prolific
from storage.registers.participants import ParticipantId
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of, set_status

commands = group("recruit")
Unlimited = Annotated[bool, option("--unlimited", "Remove the limit.")]
Reason = Annotated[str, option("--reason TEXT", "A note for researchers; participants do not see it.")]


@commands.command("pilot")
def pilot(study: StudyName) -> None:
    """Let participants start, as a pilot: exports leave out pilot data by default."""
    _decide(study, "piloted", {})


@commands.command("open")
def open_(study: StudyName) -> None:
    """Let participants start, and count their data: of a draft, or a study that is piloted, paused or closed."""
    _decide(study, "opened", {})


@commands.command("pause")
def pause(study: StudyName, reason: Reason = "paused") -> None:
    """Stop new sessions for a while; running sessions continue. `parley recruit open` ends the pause."""
    _decide(study, "paused", {"why": reason or "paused"})


@commands.command("close")
def close(study: StudyName, reason: Reason = "closed") -> None:
    """Stop new sessions for good; running sessions continue. `parley recruit open` opens the study again."""
    _decide(study, "closed", {"why": reason or "closed"})


def _decide(study: str, kind: Decision, data: Mapping[str, Any]) -> None:
    database, found = published_study(study)
    set_status(database, found.name, kind, data, by="researcher", at_us=SystemClock().now_us())
    now = operations_of(database, found.name)
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
    data = {"where": cell_of(found, where), "most": None if unlimited else most}
    set_status(database, found.name, "capped", data, by="researcher", at_us=SystemClock().now_us())
    echo(f"{found.name}: {'no quota' if unlimited else f'at most {most:,} participants'}.")


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
    data = {"amount": amount, "where": cell_of(found, where)}
    set_status(database, found.name, "budgeted", data, by="researcher", at_us=SystemClock().now_us())
    echo(f"{found.name}: {'no budget' if unlimited else f'{amount:,.2f} {found.file.currency}'}.")


def _require_limit(given: float | None, unlimited: bool) -> None:
    if (given is None) != unlimited:
        raise ArgumentInvalid("Give either the new limit or --unlimited.")


@commands.command("links")
def links(
    study: StudyName,
    count: Annotated[int, option("-n --count N", "Number of links.", min=1, max=10_000)] = 10,
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
    found = Studies(database).newest(name_of(study))
    if not ID.fullmatch(prefix or "0"):
        raise SettingsError(f"--prefix {prefix!r}: allowed are letters, digits and . _ -")
    if sign is not None:
        recruiter = _recruiter(found, recruiter)
        made = [(id_, signed(people, found, recruiter, id_)) for id_ in _ids(sign)]
    else:
        labels = [f"{prefix}{number:0{len(str(count))}}" for number in range(1, count + 1)]
        made = [(label, f"{LAB}={people.link(found.name, label)}") for label in labels]
    address = f"{settings_in_use().address}/s/{found.name}"
    rows = [("label" if sign is None else "id", "link"), *((called, f"{address}?{query}") for called, query in made)]
    write_csv(to, rows)


def _recruiter(study: Study, given: str) -> str:
    """The recruiter whose IDs are signed: the one given if the study accepts it, else the study's own."""
    by = study.file.recruitment.channels
    fit = [name for name in SIGNED if not by or name in by]
    if given in fit or (not given and len(fit) == 1):
        return given or fit[0]
    if given in SIGNED or not fit:
        raise SettingsError(
            f"{study.name} does not accept signed links: its recruitment has `channels: {', '.join(by)}`"
        )
    raise SettingsError(f"--recruiter {given!r}{suggestion(given, fit)}")


def _ids(file: Path) -> list[str]:
    """The IDs in a file; raises SettingsError if there are none, or one that a link cannot have."""
    try:
        lines = read_text(file).split("\n")
    except ProblemError as error:
        raise SettingsError(f"--ids {error}") from None
    found = {number: line.strip() for number, line in enumerate(lines, start=1) if line.strip()}
    wrong = [f"line {number}: {id_!r}" for number, id_ in found.items() if not clean_id(id_)]
    if wrong or not found:
        raise SettingsError(
            f"--ids {file}: needs one ID a line, of up to 128 letters, digits and . _ @ : + = ~ * / -", *wrong[:5]
        )
    return list(dict.fromkeys(map(clean_id, found.values())))


@commands.command("release")
def release_(
    study: StudyName,
    export: Annotated[Path, argument("FILE", "Prolific's export of the study, a csv file.")],
) -> None:
    """Free the places of submissions that were returned, timed out or rejected at Prolific, so that others can
    start."""
    database, people = participants()
    name = Studies(database).newest(name_of(study)).name
    back = [id_ for id_, status in statuses(read_prolific(export)).items() if status in OVER]
    sessions = [people.sessions(name, ParticipantId(PROLIFIC, id_)) for id_ in back]
    now_us = SystemClock().now_us()
    with writer(database) as connection, connection.begin():
        released = sum(release(connection, stream, now_us) for streams in sessions for stream in streams)
    echo(f"{len(back):,} submissions were returned, timed out or rejected; {released:,} places are free again.")
    if strangers := sessions.count([]):
        warn(f"{strangers:,} of these IDs belong to no session of this study.")
