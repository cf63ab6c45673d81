"""Advice and confidence, in any study of its own: the answers alone and with a recommendation or a conversation."""

from collections.abc import Mapping

from app.extensions.analysis.advice.calibration import calibration
from app.extensions.analysis.advice.followed import advice_reliance, weight_of_advice
from app.extensions.analysis.advice.judgements import COLUMNS
from app.extensions.analysis.base import AnalysisStep, call, table

TABLE = "answers"
"""The name by which steps request the tidy table of answers, which is no released one."""
_ANSWERS = table(TABLE, COLUMNS, "load(study, origin, database=database).answers")
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Reliance on advice", call(advice_reliance, _ANSWERS)),
    AnalysisStep("Weight of advice", call(weight_of_advice, _ANSWERS)),
    AnalysisStep("Calibration of confidence", call(calibration, _ANSWERS)),
)
NAMES: Mapping[str, str] = {
    "advice.weight.all": "mean weight of numeric advice, from 0 (kept) to 1 (adopted)",
    "advice.reliance.<measure>": (
        "share of answers by how a recommendation was used; the measures are those of chatbench.reliance"
    ),
    "advice.complementary.all": "accuracy with a recommendation minus that of the better of participants and advice",
    "advice.brier.<kind>": "Brier score of confidence in points: alone, with_AI, or the change between both",
    "advice.overconfidence.<kind>": "mean confidence minus accuracy: alone, with_AI, or the change between both",
    "advice.calibration.<measure>.<kind>": (
        "calibration of confidence in points: error (expected calibration error), reliability, resolution, uncertainty"
    ),
}
