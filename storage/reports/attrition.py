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

import numpy as np
import numpy.typing as npt
import orjson
from sqlalchemy import select

from experiments.session.waves import PENDING as NOT_OVER
from experiments.session.waves import wave_schedule
from experiments.study.cells import factor_values
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
    def later(self) -> Mapping[str, str]:
        """The states after the first wave; PENDING of those that are not over. Empty if the first was not completed."""
        (_, first), *more = self.states.items()
        return {wave: PENDING if state in NOT_OVER else state for wave, state in more if first == DONE}


def people_in_waves(database: Database, study: str, origin: str, now_us: int) -> Iterator[PersonWaves]:
    """The people in a study with waves, in the order of arrival; without those with an excluded session."""
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


def arm_order(study: Study) -> Mapping[str, tuple[str, ...]]:
    """The values of each factor in the order of the file; the first is what others are compared with."""
    return {name: factor_values(factor, study.pools) for name, factor in study.factors.items()}


@dataclass(frozen=True, slots=True)
class WaveMonitor:
    """`states` has the number of people by wave and state. Of those who completed the first wave, `lost` has by later
    wave and arm how many did not complete it, and for how many it is over; `p` by factor tests that arms are alike."""

    states: Mapping[str, Mapping[str, int]]
    lost: Mapping[str, Mapping[str, tuple[int, int]]]
    p: Mapping[str, float]


def wave_monitor(database: Database, study: Study, origin: str, now_us: int) -> WaveMonitor:
    found, ids = tuple(people_in_waves(database, study.name, origin, now_us)), [wave.id for wave in study.waves]
    states = {wave: dict(Counter(one.states[wave] for one in found if wave in one.states)) for wave in ids}
    lost, p = {wave: dict[str, tuple[int, int]]() for wave in ids[1:]}, dict[str, float]()
    for factor, values in arm_order(study).items():
        arms: dict[str, list[Mapping[str, str]]] = {f"{factor}: {value}": [] for value in values}
        for one in found:
            if one.later and factor in one.arms:
                arms.setdefault(f"{factor}: {one.arms[factor]}", []).append(one.later)
        arms = {arm: those for arm, those in arms.items() if those}
        numbers = [number for number, those in enumerate(arms.values()) for _ in those]
        tested = attrition_test(numbers, [[*one.values()] for those in arms.values() for one in those])
        p |= {factor: tested[1]} if tested else {}
        for wave in lost if len(arms) <= MOST_ARMS else ():
            over = {
                arm: [one[wave] for one in those if one.get(wave, PENDING) != PENDING] for arm, those in arms.items()
            }
            lost[wave] |= {arm: (len(own) - own.count(DONE), len(own)) for arm, own in over.items()}
    return WaveMonitor(states, lost, p)


def attrition_test(arms: Sequence[int], states: Sequence[Sequence[str]]) -> tuple[float, float] | None:
    """The log-rank statistic and its p; None if nobody was lost, or there is one arm. `arms` count from 0. `states` has
    for each later wave DONE, PENDING if it is not over, or anything else if it was not completed."""
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
