"""Alerts: a participants' server checks what needs a person, and tells a webhook.

A condition opens one alert, however often it is observed, and a message is sent. The alert closes when the condition
has not been observed for QUIET_S, so that one that comes and goes does not send a message each time; what a person
has settled (SETTLED) is over at the next check. Of several servers over one database one opens and closes each alert,
as the database decides.

Texts are made of names that researchers chose, numbers, codes of errors, and the versions that model servers name. They
have no text that a participant or a model wrote, no recruiter's ID and no address or key of a model server.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

import httpx2

from app.backends.wire.http_client import connection_to
from app.clock import Clock
from app.config.settings import Settings
from app.errors import NotDelivered
from experiments.events import Event
from experiments.session.conversation import REFUSED
from experiments.session.study_status import StudyStatus
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.db.database_url import sqlite_path
from storage.db.engine import Database
from storage.errors import Conflict, StorageError
from storage.log.quota import is_full
from storage.log.seats import cell_key, query_params
from storage.registers.alerts import Alert, AlertKey, change_alerts, open_alerts, record_delivery
from storage.registers.link_problems import recent_link_problems
from storage.registers.offered_tools import differing_tools
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import every_operations_in
from storage.reports.costs import spending
from storage.reports.monitoring.fidelity import SessionCache, fidelity_monitor
from storage.reports.monitoring.models import calls_since
from storage.reports.monitoring.sessions import help_requests, people_started

# an alert needs at least the number, and the share
FAILURE_WINDOW_S, FAILED, FAILED_SHARE = 600, 3, 0.25
LOST_WINDOW_S, LOST, LOST_SHARE = 3_600, 5, 0.05
BUDGET_SHARE = 0.9
# how long a change of a model is reported; nothing is over when its alert closes
SHIFT, SHIFT_S = "shift", 86_400
HELP = "help"
SETTLED = {HELP}  # over when a person has answered, and not by chance
DISK_FREE_BYTES, DISK_FREE_SHARE = 5e9, 0.1
QUIET_S = 300
# these lie in a message, in the participant's wish, or in what a reply says
NOT_THE_SERVER = REFUSED | {"stopped", "leak"}
WITHIN_S = 15.0
MOST_CHARS = 200
WEBHOOK = "webhook"
log = logging.getLogger(__name__)

# Something that researchers are to be alerted to, and its figures.
Condition = tuple[AlertKey, Mapping[str, Any]]


def conditions(
    settings: Settings, database: Database, now_us: int, caches: defaultdict[str, SessionCache]
) -> Iterator[Condition]:
    """The conditions that hold, each with another key; raises StorageError if the database cannot be read. `caches`
    keeps the newest sessions of each study from one check to the next."""
    register = Studies(database)
    with database.connect() as connection:
        for key, reasons in calls_since(connection, now_us - FAILURE_WINDOW_S * 1_000_000).items():
            yield from failing_calls(key, reasons)
        statuses = every_operations_in(connection, register.names())
        accepting = {name: one for name, one in statuses.items() if one.published and one.state in ("open", "pilot")}
        for name, lost in recent_link_problems(connection, now_us - LOST_WINDOW_S * 1_000_000).items():
            if name in accepting:
                yield from lost_ids(name, *lost, people_started(connection, name))
    for name, status in ((name, one) for name, one in statuses.items() if one.published):
        try:
            study = register.newest(name)
        except ParleyError:  # only imported, or of an older Parley
            continue
        yield from asking_for_help(database, study, status, now_us)
        if name not in accepting:
            continue
        yield from _used_up(database, study, status, now_us)
        yield from shifted_models(database, study, status, now_us, caches[name])
        for tools, names in differing_tools(database, study.name, study.hash).items():
            after = f"others ({', '.join(names)})" if names else "none, as it does not answer"
            shown = {"before": "what models are offered", "after": after}
            yield AlertKey(SHIFT, study.name, "", f"server of the tools {tools}"), shown
    yield from full_disks(settings)


def _used_up(database: Database, study: Study, status: StudyStatus, now_us: int) -> Iterator[Condition]:
    for where, budget in status.budgets.items():
        committed = spending(database, study, where, now_us).bound
        if 0 < BUDGET_SHARE * budget <= committed:
            data = {"budget": budget, "committed": committed, "currency": study.file.currency}
            yield AlertKey("budget", study.name, "", cell_key(dict(where))), data
    if not status.pilot and is_full(database, study, status.quotas_of(study.file.quotas), now_us):
        yield AlertKey("quota", study.name), {}


def shifted_models(
    database: Database, study: Study, status: StudyStatus, now_us: int, cache: SessionCache
) -> Iterator[Condition]:
    """Yield the changes of the study's models that were found in the last SHIFT_S."""
    origin = Origin.PILOT if status.pilot else Origin.PERSON
    with database.connect() as connection:
        found = fidelity_monitor(connection, query_params(study.name, origin, now_us, 0), cache)
    for shift in found.shifts:
        if now_us - shift.found_us < SHIFT_S * 1e6:
            subject = f"{shift.measure} of {shift.model}{shift.arm and f' ({shift.arm})'}"
            yield AlertKey(SHIFT, study.name, origin, subject), {"before": shift.before, "after": shift.after}


def asking_for_help(database: Database, study: Study, status: StudyStatus, now_us: int) -> Iterator[Condition]:
    origin = Origin.PILOT if status.pilot else Origin.PERSON
    for number, asked in _waiting(database, study.name, origin, now_us).items() if study.file.help else ():
        yield AlertKey(HELP, study.name, origin, str(number)), {"asked_us": asked.at_us}


def _waiting(database: Database, study: str, origin: str, now_us: int) -> Mapping[int, Event]:
    with database.connect() as connection:
        return help_requests(connection, query_params(study, origin, now_us, 0))


def is_settled(database: Database, alert: Alert, now_us: int) -> bool:
    """True if a person has settled it, so that the next check closes it."""
    kind, study, origin, subject = alert.key
    return kind in SETTLED and int(subject) not in _waiting(database, study, origin, now_us)


def failing_calls(key: tuple[str, str, str], reasons: Mapping[str | None, int]) -> Iterator[Condition]:
    """Calls of a model that failed by reason, None for those that did not: at least FAILED, and FAILED_SHARE."""
    study, origin, model = key
    failed = {reason: number for reason, number in reasons.items() if reason and reason not in NOT_THE_SERVER}
    calls, number = sum(reasons.values()), sum(failed.values())
    if number >= max(FAILED, FAILED_SHARE * calls):
        data = {"calls": calls, "failed": number, "reasons": dict(sorted(failed.items()))}
        yield AlertKey("models", study, origin, model), data


def lost_ids(study: str, refused: int, started: int, sessions: int) -> Iterator[Condition]:
    """Links that lost their id: `refused`, or `started` without it, of all `sessions` that people have started."""
    if refused + started >= max(LOST, LOST_SHARE * (refused + sessions)):
        yield AlertKey("links", study), {"refused": refused, "started": started, "sessions": sessions}


def full_disks(settings: Settings) -> Iterator[Condition]:
    """The disks of the database and of the drafts, each once, that are nearly full."""
    file = sqlite_path(settings.database_url)
    folders = [settings.studies_dir.resolve(), *([file.resolve()] if file is not None else [])]
    there = [next(path for path in (folder, *folder.parents) if path.is_dir()) for folder in folders]
    for folder in {path.stat().st_dev: path for path in there}.values():
        used = shutil.disk_usage(folder)
        if used.free < min(DISK_FREE_BYTES, DISK_FREE_SHARE * used.total):
            yield AlertKey("disk", subject=str(folder)), {"free": used.free, "size": used.total}


def explained(alert: Alert) -> tuple[str, str]:
    key, data = alert.key, alert.data
    match key.kind:
        case "models":
            whose = f" ({key.origin} sessions)" if key.origin != Origin.PERSON else ""
            what = f"{data['failed']} of {data['calls']} recent calls of the model {key.subject} failed{whose}"
            to_do = f"Errors: {', '.join(data['reasons'])}. Look at Monitoring, and run `parley models`."
        case "budget":
            amounts = f"{data['committed']:,.2f} of {data['budget']:,.2f} {data['currency']}"
            what = f"{amounts} of the budget{key.subject and f' for {key.subject}'} are spent or reserved"
            to_do = f"At 100 % nobody new can start. Raise it: `parley recruit budget {key.study} AMOUNT`."
        case "shift":
            what = f"the {key.subject} changed from {data['before']} to {data['after']}"
            to_do = "The treatment may be another one since then. Look at Monitoring, and pause the study if it is."
        case "help":
            what = f"the participant of session {key.subject} asks for help"
            to_do = f"Answer under Sessions, or by `parley session answer {key.study} {key.subject} TEXT`."
        case "links":
            without = f"{data['started']} of {data['sessions']} sessions started without the ID of their link"
            what = f"{data['refused']} links to the study were refused, and {without}"
            to_do = "Compare the link at the recruiter with that of the study. Monitoring has the reasons."
        case "quota":
            what = "the participant quota is reached, so nobody new can start"
            to_do = f"Close the study, or raise the quota: `parley recruit quota {key.study} NUMBER`."
        case "disk":
            what = f"{data['free'] / 1e9:.1f} of {data['size'] / 1e9:,.0f} GB are free on the disk of {key.subject}"
            to_do = "When it is full, nothing can be saved. Delete files or use a larger disk."
        case _:
            what = "The database cannot be written: participants cannot go on"
            to_do = "See the server's log. Nothing that was saved is lost; participants' pages try again by themselves."
    return f"{key.study}: {what}" if key.study else what, to_do


def link(key: AlertKey, console: str) -> str:
    place = {"tab": "sessions", "session": key.subject} if key.kind == HELP else {"tab": "monitoring"}
    return f"{console}/?{urlencode({'study': key.study, **place})}" if key.study else f"{console}/"


def since(alert: Alert) -> str:
    at_us = alert.data.get("asked_us", alert.opened_us)
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def updated(known_alerts: Sequence[Alert], observed: Sequence[Condition], now_us: int) -> Iterator[Alert]:
    by_key, holding = {alert.key: alert for alert in known_alerts}, dict(observed)
    for key, data in holding.items():
        alert = by_key.get(key) or Alert(key, data, opened_us=now_us, last_us=now_us, notified_us=now_us)
        yield replace(alert, data=data, last_us=now_us)
    for key, alert in by_key.items():
        if key not in holding and (key.kind in SETTLED or now_us - alert.last_us >= QUIET_S * 1e6):
            yield replace(alert, closed_us=now_us, notified_us=now_us)


def message(alert: Alert, console: str) -> str:
    what, to_do = explained(alert)
    return f"Alert: {what}\n{to_do}\n{link(alert.key, console)}" if alert.closed_us is None else f"Over: {what}"


async def post(url: str, text: str) -> str:
    """Post a text as JSON; an answer of 2xx is success. No redirect is followed. The URL is a secret."""
    way = await asyncio.to_thread(connection_to, url)  # reading the machine's certificates takes 50 ms
    try:
        async with httpx2.AsyncClient(timeout=WITHIN_S, **way) as client:
            answer = await client.post(url, json={"text": text}, headers={"user-agent": "parley"})
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:  # its text may have the URL
        raise NotDelivered(f"no answer ({type(error).__name__})") from None
    said = f"{answer.status_code} {' '.join(answer.text[:MOST_CHARS].split())}".replace(url, "***")
    if not answer.is_success:
        raise NotDelivered(f"it answered {said}")
    return said


class AlertWatch:
    """Checks the conditions of a database. `fault` says why the database cannot be written, or nothing."""

    def __init__(self, settings: Settings, database: Database, clock: Clock, fault: Callable[[], str]) -> None:
        self._settings, self._database, self._clock, self._fault = settings, database, clock, fault
        # of a database that cannot be written only this process knows
        self._unsaved: tuple[Alert, ...] = ()
        self._caches: defaultdict[str, SessionCache] = defaultdict(dict)

    async def check(self) -> list[Alert]:
        """Check once; returns the alerts that opened or closed, which were sent."""
        now_us, found, why = self._clock.now_us(), list[Alert](), self._fault()
        if not why:
            try:
                found = await asyncio.to_thread(self._check, now_us)
            except Conflict as error:  # another process writes for long: the next check comes soon
                log.warning("%s", error)
            except StorageError as error:
                why = str(error)
        changed = tuple(updated(self._unsaved, [(AlertKey("database"), {})] if why else [], now_us))
        found += _news(self._unsaved, changed)
        self._unsaved = tuple(alert for alert in changed or self._unsaved if alert.closed_us is None)
        for alert in found:
            text = message(alert, self._settings.console_address)
            log.warning("%s", text.partition("\n")[0])
            await self._deliver(alert, text)
        return found

    def _check(self, now_us: int) -> list[Alert]:
        holding = tuple(conditions(self._settings, self._database, now_us, self._caches))
        if not holding and not open_alerts(self._database):  # the usual case writes nothing
            return []
        return _news(*change_alerts(self._database, partial(updated, observed=holding, now_us=now_us)))

    async def _deliver(self, alert: Alert, text: str) -> None:
        undelivered = {}
        if (hook := self._settings.alert_webhook_url) is not None:
            try:
                await post(hook.get_secret_value(), text)
            except NotDelivered as error:
                undelivered[WEBHOOK] = str(error)
                log.error("Failed to deliver an alert: %s", error)
        if alert.id and undelivered != alert.undelivered:
            await asyncio.to_thread(record_delivery, self._database, alert.id, undelivered)


def _news(earlier_alerts: Sequence[Alert], changed_alerts: Sequence[Alert]) -> list[Alert]:
    known = {alert.key for alert in earlier_alerts}
    over = (alert for alert in changed_alerts if alert.closed_us is not None and alert.key.kind != SHIFT)
    return [*(alert for alert in changed_alerts if alert.key not in known), *over]
