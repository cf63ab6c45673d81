"""The analysis of ChatBench's tables. Chang, Anderson, Hofman: ChatBench. ACL 2025."""

from app.extensions.analysis.base import AnalysisStep, TableCall, call, table
from app.extensions.analysis.chatbench import accuracy, by_dataset, correlations, reliance
from app.extensions.analysis.chatbench.accuracy import ARMS as ARMS
from app.extensions.analysis.chatbench.accuracy import COUNTED_COLUMNS, counted, filter_counts


def _counted(*also: str) -> TableCall:
    columns = (*COUNTED_COLUMNS, *also)
    return call(counted, table("user_answers", columns), table("user_answers_filtered", columns))


_ANSWERS, _FILTERED = (table(name, COUNTED_COLUMNS) for name in ("user_answers", "user_answers_filtered"))
_ALONE = table("ai_alone_answers", by_dataset.ALONE_COLUMNS)
_TALKED = table(reliance.TALKS, reliance.TALK_COLUMNS), table(reliance.QUESTIONS, reliance.QUESTION_COLUMNS)
_ACCURACIES = call(by_dataset.accuracy_table, _counted(), _ALONE)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(accuracy.accuracy, table(accuracy.TABLE, accuracy.COLUMNS)), quick=True),
    AnalysisStep(call(filter_counts, _ANSWERS, _FILTERED, _ALONE)),
    AnalysisStep(call(by_dataset.accuracy_by_dataset, _counted(), _ALONE)),
    AnalysisStep(call(by_dataset.gaps, _ACCURACIES)),
    AnalysisStep(call(correlations.questions, _counted(), _ALONE)),
    AnalysisStep(call(correlations.correlations, _counted(), _ALONE)),
    AnalysisStep(call(reliance.transitions, _counted())),
    AnalysisStep(call(reliance.reliance, _counted(reliance.CHOSEN), *_TALKED)),
)
