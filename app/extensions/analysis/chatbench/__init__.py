"""The analysis of ChatBench's tables. Chang, Anderson, Hofman: ChatBench. ACL 2025."""

from collections.abc import Mapping

from app.extensions.analysis.base import AnalysisStep, TableCall, call, table
from app.extensions.analysis.chatbench import accuracy, by_dataset, correlations, gaps, mixed_model, reliance, workers
from app.extensions.analysis.chatbench.preregistered_filter import COLUMNS, counted, filter_counts
from app.extensions.analysis.data_frames import SCREENS


def _counted(*also: str) -> TableCall:
    columns = (*COLUMNS, *also)
    return call(counted, table("user_answers", columns), table("user_answers_filtered", columns))


_ANSWERS = table("user_answers", COLUMNS)
_ALONE = table("ai_alone_answers", by_dataset.ALONE_COLUMNS)
_TALKED = table(reliance.TALKS, reliance.TALK_COLUMNS), table(reliance.QUESTIONS, reliance.QUESTION_COLUMNS)
_SCREENS = table(SCREENS, workers.TIME_COLUMNS, "screen_times(database, study, origin)")
_ACCURACIES = call(by_dataset.accuracy_table, _counted(), _ALONE)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Accuracy", call(accuracy.accuracy, table(accuracy.TABLE, accuracy.COLUMNS)), quick=True),
    AnalysisStep("Answers that count", call(filter_counts, _ANSWERS, table("user_answers_filtered", COLUMNS), _ALONE)),
    AnalysisStep("Accuracy by dataset", call(by_dataset.accuracy_by_dataset, _counted(), _ALONE)),
    AnalysisStep("Gaps", call(gaps.gaps, _ACCURACIES)),
    AnalysisStep("Question by question", call(correlations.questions, _counted(), _ALONE)),
    AnalysisStep("Correlations over questions", call(correlations.correlations, _counted(), _ALONE)),
    AnalysisStep("Corrected and lost answers", call(reliance.transitions, _counted())),
    AnalysisStep("Reliance", call(reliance.reliance, _counted(reliance.CHOSEN), *_TALKED)),
    AnalysisStep("Mixed model", call(mixed_model.odds, _counted())),
    AnalysisStep(
        "How participants worked", call(workers.quality_of_work, _ANSWERS, table(workers.TALKS, workers.TALK_COLUMNS))
    ),
    AnalysisStep("Times", call(workers.durations, _SCREENS)),
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
