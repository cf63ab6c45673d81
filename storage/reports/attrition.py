"""Attrition of a study with waves: who did not come back, and whether that differs between arms.

Participants are at risk in each wave until the first that they did not complete, or one that is not over for them. The
statistic is that of the log-rank test (Mantel 1966, Cancer Chemotherapy Reports 50:163). Its p is by permutation of the
arms among participants, as chance gave them out: it holds for few in a cell, where chi-square does not, and for any
number of arms and waves. With the sample itself counted it is exact (Phipson and Smyth 2010, SAGMB 9:39).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import orjson
from sqlalchemy import select

from experiments.session.waves import PENDING as NOT_OVER
from experiments.session.waves import wave_schedule
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.registers.persons import people
from storage.registers.studies import Studies

DONE, PENDING = "done", "pending"
PERMUTATIONS, SEED = 1_999, 1
# A factor with more values is not shown.
MOST_ARMS = 12
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PersonWaves:
    """The arms of a person and the states of their waves by id, in order, as those of a WaveWindow."""

    person: str
    arms: Mapping[str, str]
    states: Mapping[str, str]

    @property
    def joined(self) -> bool:
        """True if they completed the first wave."""
        return next(iter(self.states.values())) == DONE

    @property
    def later(self) -> Mapping[str, str]:
        """The states after the first wave; PENDING of those that are not over."""
        known = {wave: PENDING if state in NOT_OVER else state for wave, state in self.states.items()}
        return dict(islice(known.items(), 1, None))


def people_in_waves(database: Database, study: str, origin: str, now_us: int) -> Iterator[PersonWaves]:
    """Everybody in a study with waves, in the order of arrival; without persons of whom a session was excluded."""
    studies, seat = Studies(database), tables.seats.c
    query = select(seat.stream, seat.cell, seat.excluded).where(seat.study == study, seat.origin == origin)
    with database.connect() as connection:
        seats = {row.stream: row for row in connection.execute(query)}
    for person in people(database, study, origin):
        version, own = studies.get(person.hash), [seats[stream] for stream in person.streams.values()]
        if not any(row.excluded for row in own):
            states = {one.wave: one.state for one in wave_schedule(version, person.history, now_us)}
            arms = {name: value for name, value in orjson.loads(own[0].cell).items() if name in version.factors}
            yield PersonWaves(person.id, arms, states)


@dataclass(frozen=True, slots=True)
class WaveMonitor:
    """`states` has the number of people by wave and state. Of those who completed the first wave, `lost` has by arm and
    wave how many did not complete it, and for how many it is over; `p` by factor tests that arms are alike in that."""

    states: Mapping[str, Mapping[str, int]]
    lost: Mapping[str, Mapping[str, tuple[int, int]]]
    p: Mapping[str, float]


def wave_monitor(database: Database, study: Study, origin: str, now_us: int) -> WaveMonitor:
    found = tuple(people_in_waves(database, study.name, origin, now_us))
    states = {
        wave.id: dict(Counter(one.states[wave.id] for one in found if wave.id in one.states)) for wave in study.waves
    }
    lost, p = {}, {}
    for factor in study.factors:
        own = [one for one in found if one.joined and factor in one.arms]
        values = list(dict.fromkeys(one.arms[factor] for one in own))
        for value in values if len(values) <= MOST_ARMS else ():
            later = [one.later for one in own if one.arms[factor] == value]
            lost[f"{factor}: {value}"] = {
                wave.id: _lost([one.get(wave.id, PENDING) for one in later]) for wave in study.waves[1:]
            }
        if tested := attrition_test(
            [values.index(one.arms[factor]) for one in own], [[*one.later.values()] for one in own]
        ):
            p[factor] = tested[1]
    return WaveMonitor(states, lost, p)


def _lost(states: Sequence[str]) -> tuple[int, int]:
    over = [state for state in states if state != PENDING]
    return len(over) - over.count(DONE), len(over)


def attrition_test(arms: Sequence[int], states: Sequence[Sequence[str]]) -> tuple[float, float] | None:
    """The log-rank statistic and its p; None if nobody was lost, or there is one arm.

    Arms are numbered from 0. `states` has for each later wave of a participant DONE, PENDING if it is not over for
    them, or anything else if they did not complete it.
    """
    labels, width = np.asarray(arms, dtype=np.int64), 2 * (max(map(len, states), default=0) + 1)
    kinds = np.array([_kind(own) for own in states], dtype=np.int64)
    shape = (int(labels.max(initial=0)) + 1, width)
    if shape[0] < 2 or not (kinds % 2).any():
        return None

    def statistic(permuted: Counts) -> float:
        return log_rank(np.bincount(permuted * width + kinds, minlength=shape[0] * width).reshape(shape))

    found, chance = statistic(labels), np.random.default_rng(SEED)
    more = sum(statistic(chance.permutation(labels)) >= found - 1e-9 for _ in range(PERMUTATIONS))
    return found, (1 + more) / (1 + PERMUTATIONS)


def _kind(states: Sequence[str]) -> int:
    """Twice the number of waves at risk, and one more if lost in the last of them."""
    stayed = next((number for number, state in enumerate(states) if state != DONE), len(states))
    lost = stayed < len(states) and states[stayed] != PENDING
    return 2 * (stayed + lost) + lost


def log_rank(counts: Counts) -> float:
    """The statistic, from the numbers of participants by arm and kind (`_kind`)."""
    by_wave = counts.reshape(len(counts), -1, 2)
    lost = by_wave[:, 1:, 1].astype(np.float64)
    there = by_wave.sum(2)[:, ::-1].cumsum(1)[:, ::-1][:, 1:].astype(np.float64)
    all_lost, all_there = lost.sum(0), np.maximum(there.sum(0), 1)
    share = there / all_there
    away = (lost - share * all_lost).sum(1)
    spread = all_lost * (all_there - all_lost) / np.maximum(all_there - 1, 1)
    variance = np.diag(share @ spread) - (share * spread) @ share.T
    return float(away @ np.linalg.pinv(variance, hermitian=True) @ away)
