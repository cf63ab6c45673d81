"""Rehearse a study with simulated participants at the running server, and remove a rehearsal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from app.bots.rehearse import Answers, Rehearsal, RehearsalProgress, Visit, planned_visits, rehearse, remaining_visits
from app.bots.simulate import found_answers
from app.bots.tendencies import Tendencies
from app.clock import Clock
from app.errors import ArgumentInvalid
from app.extension import needed
from app.session.signed_links import REHEARSAL_HEADER, RehearsalLinks, RehearsedVisitor
from app.use_cases.costs import told_estimate, tried
from app.use_cases.simulate import calls_servers
from app.use_cases.tables import Stopped, Tell, Told
from experiments.plural import count
from experiments.session.engine import fold
from experiments.session.outcomes import status_label
from experiments.session.seeded_random import pick, uniform
from experiments.study.cells import cells
from experiments.study.screen import Screen
from experiments.study.study import Study
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.log.rehearsals import RemovedRehearsal, rehearsed_sessions, remove_rehearsal
from storage.registers.studies import Studies

LOOK_S = 0.5
FidelityReport = Callable[[Database, Study, Collection[str]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """`people` come within `over_s`, which the speed divides; with `fidelity` so many an arm, who all stay."""

    people: int = 20
    speed: float = 20.0
    over_s: float = 3600.0
    seed: str = "1"
    scripted: bool = False
    fidelity: bool = False


@dataclass(frozen=True, slots=True)
class RehearsalPlan:
    study: Study
    people: int
    visits: tuple[Visit, ...]
    """Those that are left."""
    speed: float
    links: RehearsedLinks
    streams: frozenset[str]
    report: FidelityReport | None = field(default=None, repr=False)


def plan_rehearsal(database: Database, secret: str, study: Study, request: RehearsalRequest) -> RehearsalPlan:
    """Plan the visits still missing; raises ArgumentInvalid where there are no fidelity rules."""
    fidelity = request.fidelity
    report = _fidelity_report(study) if fidelity else None
    people = request.people * (_arms(study) if fidelity else 1)
    seed = f"fidelity-{request.seed}" if fidelity else request.seed
    every = planned_visits(study.name, people, seed, request.over_s)
    every = tuple(replace(visit, leaves_after=None, away_s=None) for visit in every) if fidelity else every
    links = RehearsedLinks(RehearsalLinks(secret), study, scripted=request.scripted)
    known = rehearsed_sessions(database, study.name)
    standing = {visit.name: known[links.of(visit).stream] for visit in every if links.of(visit).stream in known}
    visits = remaining_visits(every, standing, {name for name, outcome in standing.items() if outcome is not None})
    streams = frozenset(links.of(visit).stream for visit in every)
    return RehearsalPlan(study, people, visits, request.speed, links, streams, report)


async def play(
    database: Database,
    address: str,
    plan: RehearsalPlan,
    tell: Tell,
    stopped: Stopped = bool,
) -> Told:
    """Let them come, until all are gone, it is `stopped`, or Ctrl-C; returns what was measured, of fidelity too."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs a line, with the signed link, for each request
    progress, began_s = RehearsalProgress(), time.monotonic()
    links, answers = plan.links, _answers(database, plan.links)
    rehearsal = Rehearsal(address, plan.visits, plan.speed, links.path, links.headers, answers)
    playing = asyncio.create_task(rehearse(rehearsal, progress))
    try:
        while not playing.done() and not stopped():
            words = f"{progress.here:,} taking part, {progress.dropped_out:,} left"
            tell(progress.done, len(plan.visits), words)
            await asyncio.wait([playing], timeout=LOOK_S)
        if playing.done():
            playing.result()
    except asyncio.CancelledError:  # by Ctrl-C
        pass
    finally:
        playing.cancel()
        await asyncio.wait([playing])
    tell(progress.done, len(plan.visits), "")
    return _told(_measured(database, plan, progress, time.monotonic() - began_s, stopped=playing.cancelled()))


async def takes(plan: RehearsalPlan, address: str, *, scripted: bool) -> Told:
    """Estimate a rehearsal's time and the cost of its models, by a few simulated sessions without a call."""
    dry_run, left, paid = await tried(plan.study), len(plan.visits), not scripted and calls_servers(plan.study)
    last_s = max((visit.arrives_s + (visit.away_s or 0) for visit in plan.visits), default=0)
    lasts = timedelta(seconds=round((last_s + 60 * dry_run.typical_minutes) / plan.speed)) if left else timedelta()
    says = [f"{count(left, 'simulated participant')} come to {address}. It takes about {lasts}."]
    costs = told_estimate(plan.study, dry_run, left).sentences if paid else ["It calls no model that costs."]
    return Told([*says, *costs])


def _told(found: Mapping[str, Any]) -> Told:
    ends = [f"{number:,} {status_label(outcome)}" for outcome, number in found["outcomes"].items()]
    left = {"left for good": "dropped_out", "left and came back": "came_back", "times the page was reloaded": "reloads"}
    ends += [f"{found[name]:,} {what}" for what, name in left.items() if found[name]]
    who = f"{count(found['people'], 'simulated participant')} in {timedelta(seconds=round(found['seconds']))}"
    slowest = f"the slowest {found['slowest_click_s']:.3f} s; the slowest page {found['slowest_page_s']:.3f} s"
    says = [
        f"{who}: {', '.join(ends) or 'nobody came to an end'}.",
        f"{count(found['clicks'], 'click')}, {slowest}.",
        f"{count(found['replies'], 'reply', 'replies')}, {found['failed_replies']:,} failed.",
    ]
    says += [f"{found['gone_before']:,} had been there before."] if found["gone_before"] else []
    bad = {"refused": "refused_requests", "without a response": "requests_without_response"}
    says += [f"{count(found[name], 'request')} {what}." for what, name in bad.items() if found[name]]
    says += [f"{number:,} gave up: {why}" for why, number in found["gave_up"].items()]
    says += ["It was stopped; the same rehearsal goes on from there."] if found["stopped"] else []
    tables = {name.replace("_", " "): rows for name, rows in found.items() if isinstance(rows, list)}
    if worst := tables.pop("worst conversations", ()):
        tables["conversations that broke rules, the worst first"] = [
            {"session": one["session"], "arm": one["arm"], **message} for one in worst for message in one["messages"]
        ]
    return Told(says, tables, found)


def _measured(
    database: Database, plan: RehearsalPlan, progress: RehearsalProgress, seconds: float, *, stopped: bool
) -> dict[str, Any]:
    streams = rehearsed_sessions(database, plan.study.name).keys() & plan.streams
    return {
        "people": plan.people,
        "gone_before": plan.people - len(plan.visits),
        "outcomes": dict(progress.outcomes),
        "dropped_out": progress.dropped_out,
        "came_back": progress.came_back,
        "reloads": progress.reloads,
        "gave_up": dict(progress.gave_up),
        **asdict(progress.measured),
        "seconds": round(seconds, 1),
        "stopped": stopped,
        **(plan.report(database, plan.study, streams) if plan.report and streams else {}),
    }


def _fidelity_report(study: Study) -> FidelityReport:
    if not study.file.fidelity:
        raise ArgumentInvalid(f"{study.name} has no `fidelity` rules. Add some, and publish the study again.")
    found: FidelityReport = needed("fidelity_report", "analysis")
    return found


def _arms(study: Study) -> int:
    """Count the arms that the study's `fidelity` rules tell apart, of those to which participants are assigned."""
    named = {name for rule in study.file.fidelity or () for name in rule.where}
    every = cells(study.factors, study.pools)
    return len({tuple(cell.values[name] for name in sorted(named & cell.values.keys())) for cell in every})


class RehearsedLinks:
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


def _answers(database: Database, links: RehearsedLinks) -> Answers:
    """The answers that people work out: the right ones, as often as their tendencies say, from the database."""
    studies = Studies(database)

    def find(visit: Visit, screen: Screen) -> Mapping[str, Any]:
        with database.connect() as connection:
            state = fold(facts(connection, links.of(visit).stream))
        chance = uniform(f"{visit.name}:{screen.seen}", "knows")
        return found_answers(studies.get(state.enrolled["hash"]), state, Tendencies.of(visit.name), chance)

    return lambda visit, screen: asyncio.to_thread(find, visit, screen)


def remove(database: Database, study: str, who: str, clock: Clock) -> Told:
    audit = AuditLog(database, clock.now_us)
    gone = remove_rehearsal(
        database,
        study,
        clock.now_us(),
        lambda connection, gone: audit.forward(connection, who, f"removed a rehearsal: {_removed(gone)}", study),
    )
    return Told([f"Removed: {_removed(gone)}."], data=gone)


def _removed(gone: RemovedRehearsal) -> str:
    cost = f" (cost {gone.cost:,.4f})" if gone.cost else ""
    return (
        f"{count(gone.sessions, 'session')} with {count(gone.events, 'event')}, "
        f"{count(gone.identities, 'recruiter ID')}, {count(gone.model_calls, 'model call')}{cost} and "
        f"{count(gone.annotations, 'annotation')}"
    )
