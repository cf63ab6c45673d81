"""The analysis of the instruments that a study's surveys ask: their scores, and how reliable they are."""

from collections.abc import Mapping

from app.extensions.analysis.base import AnalysisStep, call, table
from app.extensions.analysis.data_frames import INSTRUMENTS
from app.extensions.analysis.instruments import reliability, scores

_FRAME = "instrument_frame(database, study, origin)"
_SCORES, _ITEMS = table(INSTRUMENTS, scores.COLUMNS, _FRAME), table(INSTRUMENTS, reliability.COLUMNS, _FRAME)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Scores of instruments", call(scores.instrument_scores, _SCORES), quick=True),
    AnalysisStep("Reliability of instruments", call(reliability.reliabilities, _ITEMS)),
)
_AT = "for an instrument that several surveys ask, by the path of the survey"
NAMES: Mapping[str, str] = {
    "instrument.mean.<instrument>.<score>": "mean of a score; `further` has its standard deviation",
    "instrument.mean_by_arm.<instrument>.<score>.<factor>.<value>": "mean of a score by condition",
    "instrument.mean_at.<instrument>.<score>.<place>": f"mean of a score {_AT}",
    "instrument.mean_by_arm_at.<instrument>.<score>.<place>.<factor>.<value>": f"mean of a score by condition, {_AT}",
    "instrument.alpha.<instrument>.<score>": "Cronbach's alpha of a score",
    "instrument.alpha_at.<instrument>.<score>.<place>": f"Cronbach's alpha of a score {_AT}",
    "instrument.omega.<instrument>.<score>": "McDonald's omega total of a score, by a model of one factor",
    "instrument.omega_at.<instrument>.<score>.<place>": f"McDonald's omega total of a score {_AT}",
}
