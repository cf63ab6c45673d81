"""The command that rehearses a study with simulated participants at the running server, and removes the rehearsal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from app.bots.rehearse import Rehearsal, RehearsalProgress, Visit, planned_visits, rehearse, remaining_visits
from app.bots.simulate import found_answers
from app.bots.tendencies import Tendencies
from app.cli.check import ModelsThatReply, confirm_cost
from app.cli.commands import command
from app.cli.common import (
    INTERRUPTED,
    AsJson,
    Seed,
    StudyName,
    Yes,
    existing_database,
    name_of,
    option,
    settings_in_use,
)
from app.cli.printing import echo, progress_bar, show
from app.clock import SystemClock
from app.config.secret import secret_for
from app.errors import ArgumentInvalid
from app.extension import needed
from app.use_cases.simulate import calls_servers
from app.web.participant.signed_links import REHEARSAL_HEADER, RehearsalLinks, RehearsedVisitor
from experiments.session.engine import fold
from experiments.session.seeded_random import pick, uniform
from experiments.study.cells import cells
from experiments.study.screen import Screen
from experiments.study.study import Study
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.datasets.describe.markdown import count
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.log.rehearsals import RemovedRehearsal, rehearsed_sessions, remove_rehearsal
from storage.registers.studies import Studies

LOOK_S = 0.5
FidelityReport = Callable[[Database, Study, Collection[str]], dict[str, Any]]


@command("rehearse")
def rehearse_(
    study: StudyName,
    count: Annotated[int, option("-n --count N", "Number of simulated participants.", min=1, max=10_000)] = 20,
    speed: Annotated[
        float, option("--speed X", "How many times as fast as people they act.", min=0.1, max=1000)
    ] = 20.0,
    over: Annotated[
        float, option("--over MINUTES", "They arrive within this time, which the speed divides.", min=0)
    ] = 60.0,
    seed: Seed = "1",
    url: Annotated[
        str | None, option("--url URL", "The participants' server. Default: the server of the settings.")
    ] = None,
    models: ModelsThatReply = "study",
    fidelity: Annotated[
        bool,
        option(
            "--fidelity",
            "N participants an arm, who all stay; then show how far replies keep the study's `fidelity` rules.",
        ),
    ] = False,
    remove: Annotated[bool, option("--remove", "Remove all rehearsed sessions of the study.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """They arrive, read, type and answer at people's times, divided by the speed; some leave, come back or reload.

    Rehearsed sessions are never counted, exported or paid with real ones. The same command continues a rehearsal that
    was stopped.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    found = Studies(database).newest(name_of(study))
    if remove:
        _remove(database, found.name, confirmed=yes, as_json=as_json)
        return
    report = _fidelity_report(found) if fidelity else None
    count *= _arms(found) if fidelity else 1
    every = planned_visits(found.name, count, f"fidelity-{seed}" if fidelity else seed, over * 60)
    every = tuple(replace(visit, leaves_after=None, away_s=None) for visit in every) if fidelity else every
    links = _Links(RehearsalLinks(secret_for(settings, database)), found, scripted=models == "scripted")
    known = rehearsed_sessions(database, found.name)
    standing = {visit.name: known[links.of(visit).stream] for visit in every if links.of(visit).stream in known}
    visits = remaining_visits(every, standing, {name for name, outcome in standing.items() if outcome is not None})
    if models == "study" and calls_servers(found) and not (yes and as_json):
        confirm_cost(found, len(visits), confirmed=yes)
    address = (url or settings.address).rstrip("/")
    rehearsal = Rehearsal(address, visits, speed, links.path, links.headers, _KnownAnswers(database, links).of)
    progress, began_s, stopped = RehearsalProgress(), time.monotonic(), False
    try:
        asyncio.run(_play(rehearsal, progress, found.name))
    except KeyboardInterrupt:
        stopped = True
    before = {"people": count, "gone_before": count - len(visits)}
    after = {"seconds": round(time.monotonic() - began_s, 1), "stopped": stopped}
    streams = rehearsed_sessions(database, found.name).keys() & {links.of(visit).stream for visit in every}
    shown = report(database, found, streams) if report and streams else {}
    worst = shown.pop("worst_conversations", []) if not as_json else []
    show({**before, **_measured(progress), **after, **shown}, as_json)
    _show_conversations(worst)
    if not as_json:
        echo(f"Look at it: parley show status {found.name} --origin rehearsal, or Monitoring in the console.")
        echo(f"Remove it:  parley rehearse {found.name} --remove")
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _fidelity_report(study: Study) -> FidelityReport:
    if not study.file.fidelity:
        raise ArgumentInvalid(f"{study.name} has no `fidelity` rules. Add some, and publish the study again.")
    found: FidelityReport = needed("fidelity_report", "analysis")
    return found


def _arms(study: Study) -> int:
    """How many arms the study's `fidelity` rules tell apart, of those to which participants are assigned."""
    named = {name for rule in study.file.fidelity or () for name in rule.where}
    every = cells(study.factors, study.pools)
    return len({tuple(cell.values[name] for name in sorted(named & cell.values.keys())) for cell in every})


def _show_conversations(worst: Sequence[Mapping[str, Any]]) -> None:
    if worst:
        echo("\nconversations that broke rules, the worst first", "bold")
    for conversation in worst:
        echo("\nsession {session} ({arm}): {kept:.0%} of verdicts kept".format_map(conversation), "bold")
        for message in conversation["messages"]:
            echo(f"{message['by']}: {message['text']}", "red" if message["broke"] else "")
            if message["broke"]:
                echo(f"  broke {', '.join(message['broke'])}", "red")


class _Links:
    """The links of a rehearsal, with ids that each of the study's recruiters could have."""

    def __init__(self, links: RehearsalLinks, study: Study, *, scripted: bool) -> None:
        self._links, self._study, self._scripted = links, study, scripted
        wanted = study.file.recruitment
        self._channels = wanted.channels or (("open",) if wanted.id_proof == "optional" else ("prolific",))

    def of(self, visit: Visit) -> RehearsedVisitor:
        recruiter = pick(dict.fromkeys(self._channels, 1.0), visit.name, "recruiter")
        visitor = RehearsedVisitor(self._study.name, visit.name, scripted=self._scripted)
        if recruiter == "open":
            return visitor
        return replace(visitor, recruiter=recruiter, id=f"rehearsal-{visitor.stream[-12:]}")

    def path(self, visit: Visit) -> str:
        return self._links.path(self.of(visit))

    def headers(self, visit: Visit) -> Mapping[str, str]:
        return {REHEARSAL_HEADER: self._links.token(self.of(visit))}


class _KnownAnswers:
    """The answers that people work out: the right ones, as often as their tendencies say, from the database."""

    def __init__(self, database: Database, links: _Links) -> None:
        self._database, self._links, self._studies = database, links, Studies(database)

    async def of(self, visit: Visit, screen: Screen) -> Mapping[str, Any]:
        return await asyncio.to_thread(self._find, visit, screen)

    def _find(self, visit: Visit, screen: Screen) -> Mapping[str, Any]:
        with self._database.connect() as connection:
            state = fold(facts(connection, self._links.of(visit).stream))
        chance = uniform(f"{visit.name}:{screen.seen}", "knows")
        return found_answers(self._studies.get(state.enrolled["hash"]), state, Tendencies.of(visit.name), chance)


async def _play(rehearsal: Rehearsal, progress: RehearsalProgress, study: str) -> None:
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs a line, with the signed link, for each request
    with progress_bar(transient=False) as bar:
        task = bar.add_task(study, total=len(rehearsal.visits))

        async def watch() -> None:
            while True:
                words = f"{study}: {progress.here} taking part, {progress.dropped_out} left"
                bar.update(task, description=words, completed=progress.done)
                await asyncio.sleep(LOOK_S)

        watching = asyncio.create_task(watch())
        try:
            await rehearse(rehearsal, progress)
        finally:
            watching.cancel()
            bar.update(task, description=f"{study}: {progress.dropped_out} left", completed=progress.done)


def _measured(progress: RehearsalProgress) -> dict[str, Any]:
    measured = progress.measured
    return {
        "outcomes": dict(progress.outcomes),
        "dropped_out": progress.dropped_out,
        "came_back": progress.came_back,
        "reloads": progress.reloaded,
        "gave_up": dict(progress.gave_up),
        "clicks": measured.clicks,
        "refused_requests": measured.refused,
        "requests_without_response": measured.unreachable,
        "slowest_click_s": round(measured.slowest_click_s, 3),
        "slowest_page_s": round(measured.slowest_page_s, 3),
        "replies": measured.replies,
        "failed_replies": measured.failed_replies,
    }


def _remove(database: Database, study: str, *, confirmed: bool, as_json: bool) -> None:
    there = len(rehearsed_sessions(database, study))
    if there and not confirmed:
        typer.confirm(
            f"Remove {count(there, 'rehearsed session')} of {study} with all their data?", abort=True, err=True
        )
    clock = SystemClock()
    audit = AuditLog(database, clock.now_us)
    removed = remove_rehearsal(
        database,
        study,
        clock.now_us(),
        lambda connection, gone: audit.forward(connection, TERMINAL, f"removed a rehearsal: {_removed(gone)}", study),
    )
    show(removed, as_json)


def _removed(removed: RemovedRehearsal) -> str:
    cost = f" (cost {removed.cost:,.4f})" if removed.cost else ""
    return (
        f"{count(removed.sessions, 'session')} with {count(removed.events, 'event')}, "
        f"{count(removed.identities, 'recruiter ID')}, {count(removed.model_calls, 'model call')}{cost} and "
        f"{count(removed.annotations, 'annotation')}"
    )
