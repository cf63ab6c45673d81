"""The analysis of ChatBench's tables. Chang, Anderson, Hofman: ChatBench. ACL 2025."""

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
    questions,
    reliance,
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
    AnalysisStep("Question by question", _ALONE, questions.questions_of),
    AnalysisStep("Correlations over questions", _ALONE, correlations.correlations_of),
    AnalysisStep("Corrected and lost answers", _KEPT, transitions.transitions_of),
    AnalysisStep(
        "Reliance",
        {
            preregistered_filter.ANSWERS: (*preregistered_filter.COLUMNS, reliance.CHOSEN),
            preregistered_filter.FILTERED: (*preregistered_filter.COLUMNS, reliance.CHOSEN),
            reliance.TALKS: reliance.TALK_COLUMNS,
            reliance.QUESTIONS: reliance.QUESTION_COLUMNS,
        },
        reliance.reliance_of,
    ),
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
        "share of correct answers by condition and moment: alone, before the chatbot, with_AI"
    ),
    "chatbench.accuracy_by_model.<model>": "share of correct answers with the chatbot",
    "chatbench.change.<model>": "answer-first: accuracy with the chatbot minus that before it",
    "chatbench.filter.<step>": "number of answers left after each step of ChatBench's filter, where it leaves any out",
    "chatbench.count.<kind>": "number of answers included in the analysis: user-alone, user-AI, AI-alone",
    "chatbench.accuracy.<dataset>.<model>.<answer_type>": (
        "mean over questions of the share of correct answers: user-alone, user-AI, or a method of models alone"
    ),
    "chatbench.accuracy.<dataset>.<model>.user-AI.<condition>": (
        "mean over questions of the share of correct answers with the chatbot, by condition"
    ),
    "chatbench.gap.<dataset>.<model>.<method>.<condition>": "accuracy of a model alone minus that of people with it",
    "chatbench.mean_gap.<method>.<condition>": "mean absolute gap over datasets and models; `all`: over conditions too",
    "chatbench.model_gap.<model>.<other>.<answer_type>": "mean over datasets of one model's accuracy minus another's",
    "chatbench.model_gap.<model>.<other>.user-AI.<condition>": (
        "mean over datasets of one model's accuracy minus another's, with the chatbot, by condition"
    ),
    "chatbench.above_model.<method>.<condition>": (
        "share of questions on which people with a model are more accurate than the model alone"
    ),
    "chatbench.correlation.<method>.<condition>": (
        "correlation over questions: accuracy of models alone, and of participants with them"
    ),
    "chatbench.correlation_improvement.<method>.<condition>": (
        "correlation over questions: accuracy of models alone, and participants' improvement with the chatbot"
    ),
    "chatbench.linear_fit.<method>.<condition>": (
        "correlation of accuracy with the chatbot and its prediction from accuracy of participants and models alone"
    ),
    "chatbench.noise_ceiling.<condition>": "correlation if participants were exactly as accurate as free text",
    "chatbench.transition.corrected.<model>": (
        "answer-first: share of wrong answers that became correct with the chatbot"
    ),
    "chatbench.transition.lost.<model>": "answer-first: share of correct answers that became wrong with the chatbot",
    "chatbench.reliance.<measure>.<model>": (
        "answer-first: share of answers by how the chatbot's advice was used: relative_ai, relative_self, appropriate, "
        "over, under, agreement, switch, helpful, harmful"
    ),
    "chatbench.complementary.<model>": (
        "answer-first: accuracy with the chatbot minus that of the better of participants and advice alone"
    ),
    "chatbench.odds.<factor>.<level>": "mixed model: difference in the log-odds of a correct answer",
    "chatbench.odds.way.user-AI.<condition>": (
        "mixed model: difference in the log-odds of a correct answer, with the chatbot against alone, by condition"
    ),
    "chatbench.work.<measure>": "mean over participants of a measure of their work",
    "chatbench.duration.<path>": "mean seconds on a step, without times over ten minutes",
}
