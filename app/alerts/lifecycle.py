"""When an alert opens, is repeated and closes. Pure: the open alerts and the conditions in, changed alerts out.

A condition opens one alert, however often it is observed. The alert closes when the condition has not been observed for
QUIET_S, so that one that comes and goes does not send a message each time. While it is open, nobody has seen it and the
condition holds, a reminder is sent each `remind_s`. After it has closed there is no reminder, so its last message is
sent again each RESEND_S until it is delivered, for RESEND_FOR_S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.alerts.conditions import Condition
from storage.registers.alerts import Alert

QUIET_S = 300
RESEND_S = 3600
RESEND_FOR_S = 24 * 3600
State = Literal["opened", "reminder", "closed", "test"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to send: an alert, and what has become of it; `only` by these channels, if some are named."""

    alert: Alert
    state: State
    only: tuple[str, ...] = ()


def updated(known: Sequence[Alert], observed: Sequence[Condition], now_us: int, remind_s: float) -> tuple[Alert, ...]:
    """The alerts that are new or changed, of the open ones that are `known` and the conditions that hold now."""
    return tuple(_updated(known, observed, now_us, remind_s))


def _updated(known: Sequence[Alert], observed: Sequence[Condition], now_us: int, remind_s: float) -> Iterator[Alert]:
    by_key = {alert.key: alert for alert in known}
    holding = {condition.key: condition for condition in observed}
    for key, condition in holding.items():
        alert = by_key.get(key)
        if alert is None:
            yield Alert(key, condition.data, opened_us=now_us, last_us=now_us, notified_us=now_us)
        else:
            remind = alert.seen_us is None and now_us - alert.notified_us >= remind_s * 1e6
            yield replace(
                alert, data=condition.data, last_us=now_us, notified_us=now_us if remind else alert.notified_us
            )
    for key, alert in by_key.items():
        if key not in holding and now_us - alert.last_us >= QUIET_S * 1e6:
            yield replace(alert, closed_us=now_us, notified_us=now_us)


def notices(known: Sequence[Alert], changed: Sequence[Alert]) -> tuple[Notice, ...]:
    """The messages to send about changed alerts, given those that were open before."""
    before = {alert.key: alert for alert in known}
    return tuple(
        Notice(alert, state) for alert in changed if (state := _state(before.get(alert.key), alert)) is not None
    )


def _state(before: Alert | None, now: Alert) -> State | None:
    if before is None:
        return "opened"
    if now.closed_us is not None:
        return "closed"
    return "reminder" if now.notified_us != before.notified_us else None
