"""The task of a participants' server that checks conditions and sends alerts; nothing in a request waits for it.

Of all servers and workers over one database one checks: the one that has the claim `alerts`. The state of each alert is
in the database, except that of a database that cannot be written, which this process remembers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from app.alerts.channels import channels_of, deliver
from app.alerts.conditions import Condition, conditions
from app.alerts.lifecycle import RESEND_FOR_S, RESEND_S, Notice, notices, updated
from app.alerts.observe import Observer, thresholds_of
from app.alerts.text import subject
from app.clock import Clock
from app.config.settings import Settings
from problems.errors import ParleyError
from storage.db.advisory_locks import AdvisoryLocks
from storage.db.engine import Database
from storage.errors import Conflict, StorageError
from storage.registers.alerts import Alert, AlertKey, change_alerts, open_alerts, record_delivery, take_undelivered

CLAIM = "alerts"
DATABASE = Condition(AlertKey("database"))
log = logging.getLogger(__name__)


class AlertWatch:
    """Checks the conditions of a database every so often. `fault` says why the database cannot be written, or nothing;
    without `claims` no other process serves it. Raises SettingsError for settings that do not go together."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Clock,
        fault: Callable[[], str] = lambda: "",
        claims: AdvisoryLocks | None = None,
    ) -> None:
        self._database, self._clock, self._fault, self._claims = database, clock, fault, claims
        self._every_s, self._remind_s = settings.alert_interval_s, 3600 * settings.alert_reminder_h
        self._channels, self._thresholds = channels_of(settings), thresholds_of(settings)
        self._observer = Observer(settings, database)
        self._leads = claims is None
        self._unsaved: tuple[Alert, ...] = ()
        """The open alert about the database, if there is one."""
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Check until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._every_s)
                try:
                    await self.check()
                except (ParleyError, OSError) as error:
                    log.error("the conditions for alerts could not be checked: %s", error)
        finally:
            for task in self._sending:
                task.cancel()

    async def check(self) -> tuple[Notice, ...]:
        """Check once, unless another process does; returns the messages that are being sent."""
        if not await self._is_leading():
            return ()
        now_us = self._clock.now_us()
        found: tuple[Notice, ...] = ()
        why = self._fault()
        if not why:
            try:
                found = await asyncio.to_thread(self._check, now_us)
            except Conflict as error:  # another process writes for long: the next check comes soon
                log.warning("%s", error)
            except StorageError as error:
                why = str(error)
        found += self._database_notices(bool(why), now_us)
        for notice in found:
            log.warning("%s", subject(notice))
            self._send(notice)
        return found

    async def sent(self) -> None:
        """Wait until all messages were sent or given up."""
        await asyncio.gather(*self._sending)

    async def _is_leading(self) -> bool:
        """Whether this process has the claim. Over a database that was restarted two may have it; each alert is still
        opened by one, as the database decides."""
        if not self._leads and self._claims is not None:
            try:
                self._leads = await asyncio.wrap_future(self._claims.acquire(CLAIM))
            except StorageError as error:
                log.error("it cannot be found out which process checks the conditions for alerts: %s", error)
        return self._leads

    def _check(self, now_us: int) -> tuple[Notice, ...]:
        holding = conditions(self._observer.observe(now_us), self._thresholds)
        found: tuple[Notice, ...] = ()
        if holding or open_alerts(self._database):  # the usual case writes nothing
            decide = partial(updated, observed=holding, now_us=now_us, remind_s=self._remind_s)
            found = notices(*change_alerts(self._database, decide))
        since_us, before_us = now_us - int(RESEND_FOR_S * 1e6), now_us - int(RESEND_S * 1e6)
        again = take_undelivered(self._database, since_us, before_us, now_us) if self._channels else ()
        return found + tuple(Notice(alert, "closed", tuple(alert.undelivered)) for alert in again)

    def _database_notices(self, failing: bool, now_us: int) -> tuple[Notice, ...]:
        """The messages about a database that cannot be written: the same rules, with the state in memory."""
        changed = updated(self._unsaved, [DATABASE] if failing else [], now_us, self._remind_s)
        found = notices(self._unsaved, changed)
        self._unsaved = tuple(alert for alert in changed or self._unsaved if alert.closed_us is None)
        return found

    def _send(self, notice: Notice) -> None:
        if self._channels:
            task = asyncio.create_task(self._deliver(notice))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, notice: Notice) -> None:
        channels = [one for one in self._channels if not notice.only or one.name in notice.only]
        undelivered = await deliver(channels, notice)
        for channel, why in undelivered.items():
            log.error("an alert could not be delivered by %s: %s", channel, why)
        if notice.alert.id and undelivered != notice.alert.undelivered:
            try:
                await asyncio.to_thread(record_delivery, self._database, notice.alert.id, undelivered)
            except ParleyError as error:
                log.error("it could not be noted that an alert was not delivered: %s", error)
