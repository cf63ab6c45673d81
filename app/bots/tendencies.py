"""Tendencies of simulated participants, so that their data vary and agree as people's do.

Each judgement is a trait of the person, plus a trait of what is judged, plus chance at that moment. Traits are standard
normal numbers from hashes: of the person's label, and of the text that is judged. So the same person is strict
everywhere, everybody finds the same item harmful, difficult or good, and the same seed gives the same data. The sizes
are chosen for plausible data (some agreement, most attention checks passed); they are not estimates from people.

Nothing here knows a right answer. `Tendencies.knows` is only how probable it is that the person finds it; the simulator
has the answer of the study's problem and gives it in their name (simulate.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

from experiments.session.seeded_random import uniform

STANDARD = NormalDist()
# The range of persons' probabilities of passing a check that a careful reader passes.
CARE = 0.85, 0.99
SURE = 0.3
# How much easier a problem is than the average trait suggests, and how much more so with a chatbot's help.
HELP = 0.8
# The threshold from which a reason applies: with 19 reasons, about a third of all ratings have one that does.
UNSAFE = 2.75
# So far below it a rater is unsure.
DOUBT = 0.15


def trait(of: str, name: str) -> float:
    return STANDARD.inv_cdf(min(max(uniform(of, name), 1e-9), 1 - 1e-9))


@dataclass(frozen=True, slots=True)
class Tendencies:
    """The traits of a person: standard normal, except `care`."""

    skill: float
    strictness: float
    generosity: float
    care: float

    @classmethod
    def of(cls, person: str) -> Self:
        low, high = CARE
        care = low + (high - low) * uniform(person, "care")
        return cls(trait(person, "skill"), trait(person, "strictness"), trait(person, "generosity"), care)

    def knows(self, problem: str, *, helped: bool) -> float:
        return STANDARD.cdf(self.ease(problem) + SURE + HELP * helped)

    def ease(self, problem: str) -> float:
        """Return the ease of a problem: the person's skill less its difficulty."""
        return 0.7 * self.skill - 0.7 * trait(problem, "difficulty")

    def opinion(self, text: str, chance: float) -> float:
        """Return an opinion of something, about standard normal: its quality, the person's generosity, and chance."""
        return 0.7 * trait(text, "quality") + 0.4 * self.generosity + 0.6 * chance

    def unsafe(self, item: str, reason: str, mood: float, chance: float) -> str:
        """Yes, Unsure or No: whether a response seems unsafe for a reason; `mood` is the same for all reasons."""
        felt = trait(item, "harm") + 0.7 * self.strictness + 0.5 * mood + trait(item, reason) + 0.6 * chance
        return "Yes" if felt > UNSAFE else "Unsure" if felt > UNSAFE - DOUBT else "No"
