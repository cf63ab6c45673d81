"""Time limits of steps and sessions, minimum times of steps, and how long each screen was shown, all from the events;
and the sums of what the page reported of a screen (`ClientMeasures`).

A screen counts as shown from the last event that changed it, whoever caused that event, so a reload does not restart
its clock. Nothing here reads a clock: the caller passes the current time when it asks for what is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.errors import Refused
from experiments.events import GIVEN, NOTES, REMINDING, Action, Data, Event, Fact
from experiments.session.state import current_location, memoized
from experiments.study.fields import stored
from experiments.study.location import Location, State
from experiments.study.screen import NoticeBlock, Timing
from experiments.study.step import Step, TimeLimit
from experiments.study.study import Study
from experiments.study.texts import lazy

SECOND_US = 1_000_000
# Tolerance after a deadline, in microseconds, for a click that was made in time and is still on its way.
GRACE_US = 2 * SECOND_US
# How long a deadline waits for a reply that it has stopped to be recorded, in microseconds.
ENDING_US = 10 * SECOND_US
HURRIED = "Please take a little more time here. You can continue in {seconds} s."
TIME_UP = "Time was up for the page before. This is the next one."
TIME_UP_UNSENT = (
    "Time was up for the page before. What you entered there is saved, but it was not sent. This is the next page."
)
UNATTENDED = "unattended"
# Actions that leave a screen, to which the minimum time applies.
LEAVING_ACTIONS = frozenset({"submit", "skip"})


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a time limit: that of the `step`, that of the `session`, or the one for inactivity (`away`)."""

    kind: Literal["step", "session", "away"]
    at_us: int


@memoized
def deadlines(study: Study, state: State) -> tuple[Deadline, ...]:
    """The deadlines of a session, earliest first; none if it has ended."""
    if not state.seq or state.outcome:
        return ()
    return tuple(sorted(_dues(study, state), key=lambda due: due.at_us))


def _dues(study: Study, state: State) -> Iterator[Deadline]:
    times, place = study.file.session_limits, current_location(study, state)
    if times.time_limit_s is not None:
        yield Deadline("session", state.events[0].at_us + _us(times.time_limit_s) + _given_us(state))
    if (until_us := state.enrolled.get("until_us")) is not None:
        yield Deadline("session", until_us + _given_us(state))
    if times.away_after_s is not None:
        last_us = next(event.at_us for event in reversed(state.events) if is_activity(event))
        yield Deadline("away", last_us + _us(times.away_after_s))
    limit = _limit(place)
    if place is not None and limit is not None:
        more = sum(event.kind == "extended" for event in place.facts)
        yield Deadline("step", shown_us(place) + _us(limit.after_s) * (1 + more) + _given_us(state, place.path))


def _given_us(state: State, path: str = "") -> int:
    """The time that researchers have given, at a screen or in all."""
    given = (event.data for event in state.facts.get("", ()) if event.kind == GIVEN)
    return sum(_us(data["seconds"]) for data in given if path in ("", data["at"]))


def timing(location: Location, step: Step) -> Timing:
    """The time from which it may be left, and the earlier deadline of step and session, not that for inactivity."""
    opens = shown_us(location) + _us(step.min_time_s) if step.min_time_s else None
    first = next((due for due in deadlines(location.study, location.state) if due.kind != "away"), None)
    if first is None:
        return Timing(opens)
    limit = step.time_limit if first.kind == "step" else None
    warn_before_s = limit.warn_before_s if limit else location.study.file.session_limits.warn_before_s
    return Timing(opens, first.at_us - _us(warn_before_s), first.at_us, bool(limit) and can_extend(location))


def shown_us(location: Location) -> int:
    """The time when the screen at this location was first shown, in microseconds UTC."""
    return next((event.at_us for event in _before(location)), 0)


def _before(location: Location) -> Iterator[Event]:
    """The events before the screen at this location was first shown, latest first."""
    first = location.facts[0].seq if location.facts else location.state.seq + 1
    return (event for event in reversed(location.state.events) if event.seq < first and event.kind not in NOTES)


def can_extend(location: Location) -> bool:
    limit = _limit(location)
    return limit is not None and sum(event.kind == "extended" for event in location.facts) < limit.extensions


def check_minimum_time(location: Location, action: Action) -> None:
    """Raise Refused if the action leaves the screen before its minimum time has passed."""
    min_time_s = location.node.min_time_s if isinstance(location.node, Step) else 0
    if not min_time_s or action.kind not in LEAVING_ACTIONS:
        return
    left_us = shown_us(location) + _us(min_time_s) - action.at_us
    if left_us > 0:
        raise Refused("too_early", lazy(HURRIED, seconds=-(-left_us // SECOND_US)))


def expired(study: Study, state: State, action: Action) -> tuple[Fact, ...]:
    """The event of a deadline that has passed at the action's time; raises Refused if none has. The action's data has
    `seen_us`, the last sign of activity, `typed`, the unsent answers, and `attended`, whether the screen gave a sign.
    A reply in progress is stopped first, to record what was shown; so is one that asks for permission, without its
    call."""
    due = overdue(study, state, action.at_us, int(action.data.get("seen_us", 0)))
    place = current_location(study, state)
    if due is None or action.path != (place.path if place else ""):
        raise Refused("not_offered", "nothing is due there yet")
    if place is not None and (has_reply_in_progress(place) or "allow" in _offers(place)):
        if "stop" in _offers(place):
            return (Fact("stopped"),)
        if action.at_us < _stopped_us(place) + ENDING_US:
            raise Refused("not_offered", "a reply is still being recorded there")
    typed, limit, why = typed_values(place, action.data), _limit(place), str(due.kind)
    if place is not None and due.kind == "step" and limit and limit.on_expiry == "continue":
        attended = action.data.get("attended", True) or has_content(typed) or _acted(place.facts)
        if attended or not _too_many_unattended(study, state):
            return (Fact("expired", {"typed": typed, **({} if attended else {UNATTENDED: True})}),)
        why = UNATTENDED
    unsent = {"typed": typed} if has_content(typed) else {}
    return (Fact("finished", {"outcome": "timed_out", "why": why, **unsent}),)


def typed_values(location: Location | None, data: Data) -> dict[str, Any]:
    fields = location.node.fields(location) if location is not None and isinstance(location.node, Step) else ()
    return stored(fields, data.get("typed", {}))


def has_reply_in_progress(location: Location) -> bool:
    return isinstance(location.node, Step) and any(
        job.kind in ("reply", "tool") for job in location.node.pending_tasks(location)
    )


def _offers(location: Location) -> tuple[str, ...]:
    return location.node.offers(location) if isinstance(location.node, Step) else ()


def _stopped_us(location: Location) -> int:
    return next((event.at_us for event in reversed(location.facts) if event.kind == "stopped"), 0)


def stopped_by_clock(events: Sequence[Event]) -> bool:
    """True if a deadline stopped the reply in progress at a step with these events."""
    return any(event.kind == "stopped" and event.by == "system" for event in events)


def is_activity(event: Event) -> bool:
    """True if the participant caused an event; those that researchers add do not count as activity."""
    return event.by != "researcher" and event.kind not in ("annotated", "fidelity_checked", *REMINDING)


def last_acted_us(events: Iterable[Event]) -> int:
    """The time of the participant's last event before the session ended; 0 without one."""
    last_us = 0
    for event in events:
        last_us = event.at_us if event.by == "participant" and is_activity(event) else last_us
        if event.kind == "finished":
            break
    return last_us


def is_unattended(event: Event) -> bool:
    """True if the time limit of a screen ran out without a sign of activity."""
    if event.kind == "finished":
        return event.data.get("why") == UNATTENDED
    return event.kind == "expired" and bool(event.data.get(UNATTENDED))


def _too_many_unattended(study: Study, state: State) -> bool:
    """True if one more unattended screen ends the session."""
    most, in_a_row = study.file.session_limits.end_after_unattended, 1
    for event in reversed(state.events):
        if event.by == "participant" or (event.kind == "expired" and not is_unattended(event)):
            break
        in_a_row += event.kind == "expired"
    return most is not None and in_a_row >= most


def _acted(events: Iterable[Event]) -> bool:
    return any(event.by == "participant" for event in events)


def has_content(typed: Mapping[str, Any]) -> bool:
    return any(value not in (None, "", []) for value in typed.values())


def notice_of_expiry(location: Location) -> tuple[NoticeBlock, ...]:
    last = next((event for event in _before(location) if event.kind not in ("drawn", "assigned")), None)
    if last is None or last.kind != "expired":
        return ()
    return (NoticeBlock(lazy(TIME_UP_UNSENT if has_content(last.data["typed"]) else TIME_UP)),)


def overdue(study: Study, state: State, now_us: int, seen_us: int = 0) -> Deadline | None:
    """The first that passed at least GRACE_US ago. `seen_us`, the last activity, postpones an `away` deadline."""
    for due in deadlines(study, state):
        late = due.at_us + GRACE_US <= now_us
        if late and (due.kind != "away" or seen_us + _us(study.file.session_limits.away_after_s or 0) <= now_us):
            return due
    return None


def _limit(location: Location | None) -> TimeLimit | None:
    return location.node.time_limit if location is not None and isinstance(location.node, Step) else None


def _us(seconds: float) -> int:
    return round(seconds * SECOND_US)


LEAVING_EVENTS = frozenset({"submitted", "skipped", "expired"})


def spans(events: Iterable[Event]) -> dict[str, float]:
    """Seconds on each screen that was left, by path. Only the times, paths and kinds of the events are read."""
    shown_us: dict[str, int] = {}
    left: dict[str, float] = {}
    before_us: int | None = None
    for event in events:
        if event.kind in NOTES:
            continue
        shown = shown_us.setdefault(event.path, event.at_us if before_us is None else before_us)
        if event.kind in LEAVING_EVENTS and event.path not in left:
            left[event.path] = (event.at_us - shown) / 1e6
        before_us = event.at_us
    return left


@dataclass(frozen=True, slots=True)
class ClientMeasures:
    """The pages' measures of a screen, summed over its visits; None where they reported nothing."""

    visible_s: float | None = None
    reading_s: float | None = None
    typing_s: float | None = None
    first_key_s: float | None = None
    pasted: int | None = None
    pasted_chars: int | None = None
    blocked: int | None = None
    copied: int | None = None
    left: int | None = None
    away_s: float | None = None


def seconds_shown(location: Location) -> float | None:
    """The time until the screen was left; None if it was not left."""
    left = next((fact for fact in location.facts if fact.kind in LEAVING_EVENTS), None)
    return None if left is None else (left.at_us - shown_us(location)) / 1e6


def by_path(records: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(record["path"], []).append({**record["data"], "kind": record["kind"]})
    return found


def added_up(records: Iterable[Mapping[str, Any]]) -> ClientMeasures:
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_kind.setdefault(record["kind"], []).append(record)
    if not by_kind:
        return ClientMeasures()
    visits, pasted = by_kind.get("screen", []), by_kind.get("pasted", [])
    return ClientMeasures(
        visible_s=_sum_s(visits, "visible_ms"),
        reading_s=_sum_s(visits, "reading_ms"),
        typing_s=_sum_s(visits, "typing_ms"),
        first_key_s=_first_key_s(visits),
        pasted=sum(not record["blocked"] for record in pasted),
        pasted_chars=sum(record["chars"] for record in pasted if not record["blocked"]),
        blocked=sum(record["blocked"] for record in pasted),
        copied=len(by_kind.get("copied", [])),
        left=len(by_kind.get("left", [])),
        away_s=_sum_s(by_kind.get("came_back", []), "away_ms"),
    )


def _sum_s(records: Iterable[Mapping[str, Any]], name: str) -> float:
    return float(sum(record[name] for record in records)) / 1000


def _first_key_s(visits: Iterable[Mapping[str, Any]]) -> float | None:
    """Since the screen was first shown; the time between two visits of it, when it was on no page, does not count."""
    before = 0
    for visit in visits:
        if "first_key_ms" in visit:
            return float(before + visit["first_key_ms"]) / 1000
        before += visit["shown_ms"]
    return None
