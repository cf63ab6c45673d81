"""Studies of ChatBench's design with effects that are known, as they were planted.

A participant answers rightly with the chance 1/(1 + exp(-(effects + ability + ease))): of the dataset, the model and
the way of answering there are fixed effects, of participants and questions normal ones. A study draws both anew, so the
true accuracy is the mean over all there could be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]
ALONE, FIRST, DIRECT = "user-alone", "user-AI.answer-first", "user-AI.direct-to-AI"
WAYS = (ALONE, FIRST, DIRECT)
MODELS = ("gpt-4o", "llama-3.1-8b")
# Each with its share of the participants and its batches of twelve questions.
SUBJECTS = (("math", 0.6, 19), ("physics", 0.2, 7), ("moral", 0.2, 7))
DATASETS = (
    "elementary_mathematics", "high_school_mathematics", "college_mathematics", "conceptual_physics", "moral_scenarios",
)  # fmt: skip
# The datasets of a batch's questions.
KINDS = {"math": (0,) * 5 + (1,) * 5 + (2,) * 2, "physics": (3,) * 12, "moral": (4,) * 12}


@dataclass(frozen=True)
class Planted:
    """The truth about a study: effects on the scale of the logit, and the spread of abilities and of questions'
    ease."""

    participants: int = 650
    intercept: float = 1.6
    datasets: tuple[float, ...] = (0.0, -1.2, -1.9, -1.0, -0.6)
    models: tuple[float, ...] = (0.0, -0.4)
    ways: tuple[float, ...] = (0.0, 0.9, 0.8)
    ability: float = 0.8
    ease: float = 1.3

    def logit(self, dataset: Ints, model: Ints, way: Ints) -> npt.NDArray[np.float64]:
        parts = (np.asarray(effects)[of] for effects, of in ((self.datasets, dataset), (self.models, model)))
        return np.asarray(self.intercept + sum(parts) + np.asarray(self.ways)[way], dtype=np.float64)

    @cache  # noqa: B019 - as frozen as its arguments
    def accuracy(self) -> Mapping[tuple[str, str, str], float]:
        """The true accuracy of each dataset, model and way: the mean over all abilities and questions."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        spread = sqrt(self.ability**2 + self.ease**2)
        cells = np.indices((len(DATASETS), len(MODELS), len(WAYS))).reshape(3, -1)
        chances = 1 / (1 + np.exp(-(self.logit(*cells)[:, None] + spread * nodes)))
        means = chances @ weights / weights.sum()
        names = ((DATASETS[d], MODELS[m], WAYS[w]) for d, m, w in cells.T)
        return dict(zip(names, means.tolist(), strict=True))


def drawn(planted: Planted, chance: np.random.Generator) -> pd.DataFrame:
    """The answers of one study, with the columns of ChatBench's user_answers that analyses read, and `way`."""
    people = planted.participants
    batches = np.repeat(np.arange(33), 12).reshape(33, 12)  # of math 19, of physics and moral 7 each
    questions = np.arange(batches.size).reshape(33, 12)
    dataset_of = np.concatenate([np.tile(KINDS[name], count) for name, _, count in SUBJECTS])
    subject = chance.choice(3, people, p=[share for _, share, _ in SUBJECTS])
    first = np.array([0, 19, 26])[subject]
    batch = first + (chance.random(people) * np.array([19, 7, 7])[subject]).astype(int)
    order = _order(subject, chance)
    asked = np.take_along_axis(questions[batch], order, axis=1)
    model, direct = chance.integers(0, 2, people), chance.integers(0, 2, people)
    who = np.repeat(np.arange(people), 12).reshape(people, 12)
    test = np.arange(12) >= 3
    alone = ~test[None, :] | (direct[:, None] == 0)
    with_ai = np.broadcast_to(test, (people, 12))
    person = np.concatenate([who[alone], who[with_ai]])
    question = np.concatenate([asked[alone], asked[with_ai]])
    way = np.concatenate([np.zeros(alone.sum(), int), (1 + direct[who])[with_ai]])
    ability, ease = chance.normal(0, planted.ability, people), chance.normal(0, planted.ease, batches.size)
    logit = planted.logit(dataset_of[question], model[person], way) + ability[person] + ease[question]
    right = chance.random(person.size) < 1 / (1 + np.exp(-logit))
    named = {
        "model": (model[person], MODELS),
        "condition": (direct[person], ("answer-first", "direct-to-AI")),
        "answer_type": ((way > 0).astype(int), (ALONE, "user-AI")),
        "dataset": (dataset_of[question], DATASETS),
        "way": (way, WAYS),
    }
    words = {name: pd.Categorical.from_codes(which, pd.Index(all_)) for name, (which, all_) in named.items()}
    return pd.DataFrame({"worker_id": person, "question_id": question, "acc": right.astype("float64"), **words})


def _order(subject: Ints, chance: np.random.Generator) -> Ints:
    """Draw the questions of a batch that come alone (the first three) and those with the chatbot.

    In mathematics one of each dataset comes alone.
    """
    people = subject.size
    free = chance.permuted(np.tile(np.arange(12), (people, 1)), axis=1)
    slots = ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11])
    kinds = [chance.permuted(np.tile(some, (people, 1)), axis=1) for some in slots]
    maths = np.concatenate([*(kind[:, :1] for kind in kinds), *(kind[:, 1:] for kind in kinds)], axis=1)
    return np.where((subject == 0)[:, None], maths, free)
