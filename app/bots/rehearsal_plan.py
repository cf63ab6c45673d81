"""Who comes to a rehearsal, when, and who leaves or comes back: drawn from a seed, before anybody comes.

The same study and seed give the same visits, and a larger number of people only adds to them. Times are those of
people, in seconds; a rehearsal divides them by its speed. The shares are chosen so that a rehearsal of 60 people meets
every case; they are no estimates from data.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from experiments.session.seeded_random import uniform

LEAVES = 0.15
"""The share of people who leave before the end, within their first LEAVES_WITHIN clicks."""
COMES_BACK = 0.5
"""The share of those who leave that come back by their link, after AWAY_S, and stay."""
RELOADS = 0.04
"""The probability that somebody reloads the page before a click."""
LEAVES_WITHIN = 10
AWAY_S = (300.0, 1_800.0)


@dataclass(frozen=True, slots=True)
class Visit:
    """A rehearsed participant: comes `arrives_s` after the beginning, leaves after so many clicks (None: stays), and
    comes back after `away_s` (None: never)."""

    name: str
    arrives_s: float
    leaves_after: int | None = None
    away_s: float | None = None

    @property
    def drops_out(self) -> bool:
        """Whether this person leaves for good."""
        return self.leaves_after is not None and self.away_s is None

    def reloads(self, click: int) -> bool:
        return uniform(self.name, f"reload {click}") < RELOADS


def planned_visits(study: str, people: int, seed: str, over_s: float) -> tuple[Visit, ...]:
    """The visits in the order of arrival, which is equally likely at every moment of `over_s` seconds."""
    return tuple(sorted((_visit(f"{study}:{seed}:{number}", over_s) for number in range(people)), key=_arrival))


def remaining_visits(visits: Collection[Visit], begun: Collection[str], ended: Collection[str]) -> tuple[Visit, ...]:
    """The visits that are left of a rehearsal that was stopped, by the names of those who had begun and ended: nobody
    comes who had ended or was to drop out; those who had begun come at once, and stay."""
    left = [visit for visit in visits if visit.name not in ended and not (visit.name in begun and visit.drops_out)]
    return tuple(sorted((Visit(visit.name, 0.0) if visit.name in begun else visit for visit in left), key=_arrival))


def _visit(name: str, over_s: float) -> Visit:
    arrives_s = over_s * uniform(name, "arrival")
    if uniform(name, "leaves") >= LEAVES:
        return Visit(name, arrives_s)
    after = 1 + int(LEAVES_WITHIN * uniform(name, "clicks"))
    least_s, most_s = AWAY_S
    away_s = least_s + (most_s - least_s) * uniform(name, "away")
    return Visit(name, arrives_s, after, away_s if uniform(name, "returns") < COMES_BACK else None)


def _arrival(visit: Visit) -> float:
    return visit.arrives_s
