"""What is found in ChatBench's tables. Chang, Anderson, Hofman: ChatBench. ACL 2025."""

from collections.abc import Mapping

from app.analysis.base import AnalysisStep, of_one
from app.analysis.chatbench import (
    accuracy,
    by_dataset,
    correlations,
    durations,
    gaps,
    mixed_model,
    preregistered_filter,
    transitions,
    workers,
)
from app.analysis.data_frames import SCREENS

_KEPT = {
    preregistered_filter.ANSWERS: preregistered_filter.COLUMNS,
    preregistered_filter.FILTERED: preregistered_filter.COLUMNS,
}
_ALONE = {**_KEPT, preregistered_filter.ALONE: by_dataset.ALONE_COLUMNS}
PARTS: tuple[AnalysisStep, ...] = (
    of_one("Accuracy", accuracy.TABLE, accuracy.COLUMNS, accuracy.accuracy, quick=True),
    AnalysisStep("Answers that count", _ALONE, preregistered_filter.counts_of),
    AnalysisStep("Accuracy by dataset", _ALONE, by_dataset.by_dataset),
    AnalysisStep("Gaps", _ALONE, gaps.gaps_of),
    AnalysisStep("Correlations over questions", _ALONE, correlations.correlations_of),
    AnalysisStep("Corrected and lost answers", _KEPT, transitions.transitions_of),
    AnalysisStep("Mixed model", _KEPT, mixed_model.odds_of),
    AnalysisStep(
        "How participants worked",
        {preregistered_filter.ANSWERS: preregistered_filter.COLUMNS, workers.TALKS: workers.TALK_COLUMNS},
        workers.work_of,
    ),
    of_one("Times", SCREENS, durations.COLUMNS, durations.durations),
)
NAMES: Mapping[str, str] = {
    "chatbench.accuracy_by_condition.<condition>.<moment>": (
        "share of right answers by condition and moment: alone, before the chatbot, with_AI"
    ),
    "chatbench.accuracy_by_model.<model>": "share of right answers with the chatbot",
    "chatbench.change.<model>": "answer-first: accuracy with the chatbot minus that before it",
    "chatbench.filter.<step>": "answers that each step of the pre-registered filter leaves",
    "chatbench.count.<kind>": "answers that count: user-alone, user-AI, AI-alone",
    "chatbench.accuracy.<dataset>.<model>.<answer_type>": (
        "mean over questions of the share of right answers: user-alone, user-AI, or a method of models alone"
    ),
    "chatbench.accuracy.<dataset>.<model>.user-AI.<condition>": "the same with the chatbot, by condition",
    "chatbench.gap.<dataset>.<model>.<method>.<condition>": "accuracy of a model alone minus participants' with it",
    "chatbench.mean_gap.<method>.<condition>": "mean absolute gap over datasets and models; condition all: over both",
    "chatbench.model_gap.<model>.<other>.<answer_type>": "mean over datasets of one model's accuracy minus another's",
    "chatbench.model_gap.<model>.<other>.user-AI.<condition>": "the same with the chatbot, by condition",
    "chatbench.correlation.<method>.<condition>": (
        "correlation over questions of the accuracy of models alone and of participants with them"
    ),
    "chatbench.correlation_improvement.<method>.<condition>": (
        "the same with how much more participants had right with the chatbot than alone"
    ),
    "chatbench.linear_fit.<method>.<condition>": (
        "correlation of accuracy with the chatbot and its linear model of participants alone and models alone"
    ),
    "chatbench.noise_ceiling.<condition>": "correlation if participants were exactly as good as free text",
    "chatbench.transition.corrected.<model>": "answer-first: share of wrong answers that is right with the chatbot",
    "chatbench.transition.lost.<model>": "answer-first: share of right answers that is wrong with the chatbot",
    "chatbench.odds.<factor>.<level>": "mixed model: difference of the logarithm of the odds of a right answer",
    "chatbench.odds.way.user-AI.<condition>": "the same with the chatbot against alone, by condition",
    "chatbench.work.<measure>": "mean over participants of what each of them did",
    "chatbench.duration.<path>": "mean seconds on a step; longer than ten minutes left out",
}
