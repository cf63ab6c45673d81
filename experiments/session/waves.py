"""A person's place in the waves of a study: when each opens and closes, and how it ended.

A wave is a session of its own. All here is a function of the study, the sessions of the person and the time. Waves come
in their order: one is open only when those before it are done or missed. A wave is missed if its session was not
completed before it closed, grace included; what follows is up to the study, except that nobody goes on without having
completed the first, or after an outcome of FINAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from experiments.events import Data
from experiments.session.assignment import assignment_fact, drawn_factors
from experiments.session.state import is_later_wave, wave_of
from experiments.study.location import State
from experiments.study.schema import Wave
from experiments.study.sections.waves import Opening, later_us, local_time, next_hour_us, opening_us, zone_of
from experiments.study.study import Study

# Outcomes after which a person takes part in no further wave.
FINAL = frozenset({"screened_out", "failed_attention", "no_consent", "withdrawn"})
WaveState = Literal["upcoming", "open", "late", "live", "done", "missed", "dropped"]
# States in which a wave is still to come or in progress.
PENDING: frozenset[WaveState] = frozenset({"upcoming", "open", "late", "live"})


@dataclass(frozen=True, slots=True)
class WaveVisit:
    """`ended_us` and `outcome` are None while it lasts; `until_us` is as its event `enrolled` set it."""

    wave: str
    begun_us: int
    ended_us: int | None = None
    outcome: str | None = None
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class WaveHistory:
    """A person's sessions so far, and the IANA name of their time zone; UTC if it is not known."""

    visits: tuple[WaveVisit, ...] = ()
    zone: str = ""


@dataclass(frozen=True, slots=True)
class WaveWindow:
    """A wave of a person, open from `opens_us` to `closes_us`, late until `until_us`, then missed; None where not known
    yet, or without end. `upcoming` opens later; `open` and `late` (within the grace) can be started; `live` is under
    way; `done` completed; `missed` not in time; `dropped` never opens. `round` is 2 for those invited again."""

    wave: str
    state: WaveState
    opens_us: int | None = None
    closes_us: int | None = None
    until_us: int | None = None
    round: int = 1
    over_us: int | None = None
    """The end of a done or missed wave."""


def wave_schedule(study: Study, history: WaveHistory, now_us: int) -> tuple[WaveWindow, ...]:
    """The waves of a person in their order; none if the study has no waves."""
    visits, zone = {visit.wave: visit for visit in history.visits}, zone_of(history.zone)
    found: list[WaveWindow] = []
    dropped = False
    for wave in study.waves:
        visit = visits.get(wave.id)
        opens_us = _opens_us(wave, found, visits, zone) if found else visit.begun_us if visit else now_us
        window = WaveWindow(wave.id, "dropped" if dropped else "upcoming")
        if opens_us is not None and not (dropped and visit is None):
            waits = any(before.state in PENDING for before in found)
            window = _window(wave, visit, opens_us, zone, now_us, waits=waits)
        final = not found or wave.missed == "drop" or (visit is not None and visit.outcome in FINAL)
        dropped |= window.state == "missed" and final
        found.append(window)
    return tuple(found)


def next_window(windows: Sequence[WaveWindow]) -> WaveWindow | None:
    """The wave in progress, or else the next one; None if there is none to come."""
    return next((window for window in windows if window.state in PENDING), None)


def next_opening(study: Study, history: WaveHistory, now_us: int) -> datetime | None:
    """The time at which the next wave opens, in the person's time zone; None if it is open, or the time unknown."""
    window = next_window(wave_schedule(study, history, now_us))
    if window is None or window.state != "upcoming" or window.opens_us is None:
        return None
    return local_time(window.opens_us, zone_of(history.zone))


def _window(
    wave: Wave, visit: WaveVisit | None, opens_us: int, zone: ZoneInfo, now_us: int, *, waits: bool
) -> WaveWindow:
    closes_us, until_us, number = *_closing(wave, opens_us, zone), 1
    starts_us = visit.begun_us if visit else now_us
    if wave.missed == "invite_again" and until_us is not None and starts_us >= until_us:
        opens_us = next_hour_us(until_us, wave.opens.at if wave.opens else None, zone)
        closes_us, until_us, number = *_closing(wave, opens_us, zone), 2
    until_us = visit.until_us if visit and visit.until_us is not None else until_us
    over_us = visit.ended_us if visit else None
    if visit is not None and visit.outcome is not None:
        state: WaveState = "done" if visit.outcome == "complete" else "missed"
    elif until_us is not None and now_us >= until_us:
        state = "missed"
    elif visit is not None:
        state = "live"
    elif waits or now_us < opens_us:
        state = "upcoming"
    else:
        state = "late" if closes_us is not None and now_us >= closes_us else "open"
    if state == "missed" and until_us is not None:
        over_us = min(until_us, over_us or until_us)
    return WaveWindow(wave.id, state, opens_us, closes_us, until_us, number, over_us)


def _closing(wave: Wave, opens_us: int, zone: ZoneInfo) -> tuple[int | None, int | None]:
    """Return the end of a wave, without and with the grace."""
    closes_us = later_us(opens_us, wave.open_for, zone) if wave.open_for else None
    return closes_us, None if closes_us is None else later_us(closes_us, wave.grace, zone)


def _opens_us(wave: Wave, earlier: Sequence[WaveWindow], visits: Mapping[str, WaveVisit], zone: ZoneInfo) -> int | None:
    opening = wave.opens or Opening()
    before = next((window for window in earlier if window.wave == opening.of), earlier[-1])
    since_us = 0 if opening.on else before.over_us
    if opening.since == "start":
        since_us = visits[before.wave].begun_us if before.wave in visits else before.over_us and before.opens_us
    return None if since_us is None else opening_us(opening, since_us, zone)


def wave_data(study: Study, window: WaveWindow, person: str, zone: str, state: State | None = None) -> dict[str, Any]:
    """The wave's part of `enrolled`; `state` is that of the person's first session, if this is a later one."""
    factors = {name: value for name, value in state.factors.items() if name in study.factors} if state else None
    known: dict[str, Any] = {"zone": zone or None, "until_us": window.until_us, "late": window.state == "late" or None}
    known |= {"person": person, "wave": window.wave, "factors": factors}
    return {name: value for name, value in known.items() if value is not None}


def goes_on(study: Study, state: State) -> bool:
    """Return True if a wave follows for the person of an ended session."""
    wave = wave_of(study, state)
    if wave is None or wave.id == study.waves[-1].id or state.outcome in FINAL:
        return False
    return state.outcome == "complete" or (is_later_wave(study, state) and wave.missed != "drop")


def assigned_fact(study: Study, state: State, known: Data) -> dict[str, Any]:
    """The data of the event `assigned`: later waves repeat the factors of the first, and each draws its own."""
    wave = wave_of(study, state)
    if is_later_wave(study, state):
        fact: dict[str, Any] = {"factors": state.enrolled.get("factors", {}), "method": "repeated"}
    else:
        fact = assignment_fact(study, state.seed, known)
    own = drawn_factors(wave.factors, study.pools, state.seed) if wave else {}
    return {**fact, "factors": {**fact["factors"], **own}}
