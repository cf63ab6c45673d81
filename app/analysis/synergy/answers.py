"""The answers from which synergy is estimated: who answered which question, alone or with which model, and how.

They are those of a study of its own (`advice.judgements`), or of an imported ChatBench release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.analysis.advice.judgements import KEY, WITH_AI, judgements
from app.analysis.chatbench.accuracy import COLUMNS, TABLE, prepared
from app.analysis.data_frames import frame
from app.analysis.intervals import Codes, Values
from app.analysis.tidy_frames import load
from app.errors import TrialError
from storage.db.engine import Database
from storage.registers.origins import Origin

FEWEST = 10
"""The fewest participants who answered both alone and with a model, without which no correlation is estimated."""
SOME_MODEL = "AI"
"""The name of a model that the study does not assign, such as the source of a recommendation."""


@dataclass(frozen=True, slots=True)
class SynergyAnswers:
    """Answers as arrays of the same length."""

    correct: Values
    """0 or 1."""
    person: Codes
    question: Codes
    model: Codes
    """0 for an answer alone, then the place of the model in `models`, from 1."""
    models: tuple[str, ...]

    @property
    def people(self) -> int:
        """The number of participants."""
        return int(self.person.max()) + 1

    @property
    def questions(self) -> int:
        """The number of questions."""
        return int(self.question.max()) + 1


def synergy_answers(database: Database, study: str, origin: str) -> SynergyAnswers:
    """The answers of a study's sessions of an origin; raises TrialError where synergy cannot be told from them."""
    return coded(_released(database, study) if origin == Origin.IMPORT else _own(database, study, origin))


def _released(database: Database, study: str) -> pd.DataFrame:
    rows = prepared(frame(database, study, TABLE, Origin.IMPORT, columns=COLUMNS))
    named = rows.rename(columns={"worker_id": "participant", "question_id": "question", "acc": "correct"})
    return named.assign(model=rows["model"].where(rows["moment"] == "with_AI"))


def _own(database: Database, study: str, origin: str) -> pd.DataFrame:
    answers = load(study, origin, database=database).answers
    rows = judgements(answers)
    known = answers.dropna(subset=["model"]).drop_duplicates([*KEY])[[*KEY, "model"]]
    found = rows.merge(known, on=[*KEY], how="left")
    model = found["model"].fillna(SOME_MODEL).where(found["kind"] == WITH_AI)
    return found.assign(model=model, question=found["problem"])


def coded(rows: pd.DataFrame) -> SynergyAnswers:
    """Rows with `participant`, `question`, `model` (missing for an answer alone) and `correct` as arrays.

    Raises TrialError if too few participants answered both alone and with a model, or all answers are alike.
    """
    known = rows.dropna(subset=["participant", "question", "correct"])
    helped = known["model"].notna()
    both = set(known.loc[helped, "participant"]) & set(known.loc[~helped, "participant"])
    if len(both) < FEWEST:
        raise TrialError(
            f"{len(both)} participants have answers with a known key both alone and with a model; synergy needs at "
            f"least {FEWEST}. Ask questions alone first, as the protocol `answer-first` does."
        )
    if known["correct"].nunique() < 2:
        raise TrialError("All answers are right, or all are wrong, so abilities cannot be told apart.")
    models = tuple(sorted(known.loc[helped, "model"].astype(str).unique()))
    places = known["model"].map({name: place for place, name in enumerate(models, 1)}).fillna(0)
    return SynergyAnswers(
        known["correct"].to_numpy(np.float64),
        _codes(known["participant"]),
        _codes(known["question"]),
        places.to_numpy(np.int64),
        models,
    )


def _codes(labels: pd.Series[str]) -> Codes:
    return np.asarray(pd.factorize(labels.astype(str), sort=True)[0], dtype=np.int64)
