"""The closeness of simulated users to people: accuracy by question, and first prompts.

Measures of Chang, Anderson, Hofman: ChatBench. ACL 2025, section 5: over the questions that at least five people
answered with the chatbot, Pearson's correlation and the mean absolute error of a question's accuracy; and BLEU
(sacrebleu's, of sentences) and ROUGE-1 (its F1) of first prompts, over all pairs of a simulated user and a person.
Scores of pairs are averaged within a question and then over questions, so that each question counts once.

All functions take data frames with the columns of ChatBench's released tables, and `_session`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import orjson
import pandas as pd

from app.errors import SettingsError
from app.extensions.analysis.data_frames import SESSION
from problems.errors import install_line

# Minimum number of people who answered a question with the chatbot (ChatBench's value).
LEAST = 5
ANSWER_COLUMNS = ("question_id", "model", "answer_type", "acc")
TALK_COLUMNS = ("question_id", "model", "chat_history")
ALL = "all models"
WITH_AI = "user-AI"
INSTALL = f"Text scores need packages that are not installed: {install_line('text')}"
# The similarity of a simulated prompt and a person's, from 0 to 1.
Score = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class AccuracyFit:
    """The closeness of accuracies to people's, over `questions`; None if there are too few questions."""

    questions: int
    r: float | None
    mae: float | None


@dataclass(frozen=True, slots=True)
class PromptSimilarity:
    """The similarity of first prompts, over `questions` and `pairs`."""

    questions: int
    pairs: int
    bleu: float | None
    rouge: float | None


@dataclass(frozen=True, slots=True)
class SimulatorQuality:
    """The quality of a simulated user, or of a method of models alone, with one of the models."""

    who: str
    model: str
    answers: int
    fit: AccuracyFit
    alike: PromptSimilarity | None = None


@dataclass(frozen=True, slots=True)
class SimulationData:
    """Answers and conversations, of people or of simulated users."""

    answers: pd.DataFrame
    talks: pd.DataFrame

    def of(self, model: str) -> SimulationData:
        if model == ALL:
            return self
        return SimulationData(self.answers[self.answers["model"] == model], self.talks[self.talks["model"] == model])

    def by(self, sessions: Sequence[str]) -> SimulationData:
        answers, talks = self.answers, self.talks
        return SimulationData(answers[answers[SESSION].isin(sessions)], talks[talks[SESSION].isin(sessions)])


def accuracies(answers: pd.DataFrame) -> pd.DataFrame:
    """By question: the accuracy `acc` of the answers given with the chatbot, and how many they are, `n`."""
    counted = answers[(answers["answer_type"] == WITH_AI) & answers["acc"].notna()]
    grouped = counted.assign(acc=counted["acc"].astype("float64")).groupby("question_id")["acc"]
    return pd.DataFrame({"acc": grouped.mean(), "n": grouped.size()})


def targets(answers: pd.DataFrame, least: int = LEAST) -> pd.Series:
    """People's accuracy by question, of the questions that enough of them answered with the chatbot."""
    found = accuracies(answers)
    return found.loc[found["n"] >= least, "acc"]


def fit(people: pd.Series, others: pd.Series) -> AccuracyFit:
    """The closeness of accuracies by question to people's, over the questions that both have."""
    pair = pd.concat([people.rename("people"), others.rename("others")], axis=1, join="inner").dropna()
    a, b = pair["people"].to_numpy(), pair["others"].to_numpy()
    if not len(pair):
        return AccuracyFit(0, None, None)
    varies = len(pair) > 1 and a.std() > 0 and b.std() > 0
    return AccuracyFit(len(pair), float(np.corrcoef(a, b)[0, 1]) if varies else None, float(np.abs(a - b).mean()))


def first_prompts(talks: pd.DataFrame) -> dict[str, list[str]]:
    """The first messages of conversations, by question."""
    found: dict[str, list[str]] = {}
    for question, history in zip(talks["question_id"], talks["chat_history"], strict=True):
        said = orjson.loads(history) if isinstance(history, str) else history
        text = next((one["content"] for one in said or () if one["role"] in ("You", "user")), None)
        if text is not None:
            found.setdefault(question, []).append(text)
    return found


def alike(
    people: Mapping[str, Sequence[str]], others: Mapping[str, Sequence[str]], scores: Sequence[Score]
) -> tuple[int, int, tuple[float | None, ...]]:
    """The number of questions and of pairs, and each score: the mean over questions of its mean over pairs."""
    pairs = {id_: list(product(others[id_], people[id_])) for id_ in sorted(people.keys() & others.keys())}
    number = sum(map(len, pairs.values()))
    if not number:
        return 0, 0, tuple(None for _ in scores)
    means = (fmean(fmean(score(*pair) for pair in some) for some in pairs.values()) for score in scores)
    return len(pairs), number, tuple(means)


def text_scores() -> tuple[Score, Score]:
    """BLEU and ROUGE-1; raises SettingsError where the packages are not installed."""
    try:
        from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
        from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None
    bleu_, rouge_ = BLEU(effective_order=True), RougeScorer(["rouge1"], tokenizer=DefaultTokenizer(use_stemmer=False))

    def bleu(simulated: str, person: str) -> float:
        return float(bleu_.sentence_score(simulated, [person]).score) / 100

    def rouge(simulated: str, person: str) -> float:
        return float(rouge_.score(person, simulated)["rouge1"].fmeasure)

    return bleu, rouge


def quality(
    human_data: SimulationData, simulation: SimulationData, who: Mapping[str, str], least: int = LEAST
) -> Iterator[SimulatorQuality]:
    """The quality of each simulated user, by each model that people had too, and over all models.

    `who` maps each simulated session to its simulated user.
    """
    scores = text_scores()
    for name in sorted(set(who.values())):
        own = simulation.by([session for session, played in who.items() if played == name])
        for model in _models(human_data.answers, own.answers):
            human, its = human_data.of(model), own.of(model)
            wanted = targets(human.answers, least)
            found = accuracies(its.answers)
            said = {id_: some for id_, some in first_prompts(human.talks).items() if id_ in wanted.index}
            questions, pairs, (bleu, rouge) = alike(said, first_prompts(its.talks), scores)
            texts = PromptSimilarity(questions, pairs, bleu, rouge)
            yield SimulatorQuality(name, model, int(found["n"].sum()), fit(wanted, found["acc"]), texts)


def alone(people: pd.DataFrame, answers: pd.DataFrame, least: int = LEAST) -> Iterator[SimulatorQuality]:
    """Quality of models that answer alone, from `ai_alone_answers`: each method's accuracy beside people's."""
    for column in [name for name in answers.columns if name.endswith("_acc")]:
        method = column.removesuffix("_acc")
        for model in _models(people, answers)[:-1]:
            own = answers[answers["model"] == model]
            known = own.set_index("question_id")[column].astype("float64").dropna()
            count = int(pd.to_numeric(own[f"{method}_count"]).fillna(0).sum())
            if len(known):
                found = fit(targets(people[people["model"] == model], least), known)
                yield SimulatorQuality(f"alone: {method}", model, count, found)


def _models(people: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    """The models that both have, followed by ALL."""
    known: list[Any] = sorted(set(people["model"].dropna()) & set(others["model"].dropna()))
    return [*known, ALL]
