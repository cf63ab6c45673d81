"""What the questions of a study's surveys and checks were answered with, in any study of its own."""

from collections.abc import Mapping

from app.analysis.base import AnalysisStep, of_one
from app.analysis.data_frames import SURVEYS
from app.analysis.survey import survey_results

PARTS: tuple[AnalysisStep, ...] = (
    of_one("Survey questions", SURVEYS, survey_results.COLUMNS, survey_results.survey_results, quick=True),
)
NAMES: Mapping[str, str] = {
    f"survey.{what}{by}": f"{meaning}{', by condition' if by else ''}"
    for what, meaning in {
        "share.<question>.<option>": "share of answers that chose an option, or ticked a box (`ticked`)",
        "mean.<question>": "mean of a number, a scale or a slider (`further` has its standard deviation)",
        "answers.<question>": "number of answers to a question with a free text",
        "passed.<check>": "share of the answers to a check that passed it",
    }.items()
    for by in ("", ".<factor>.<value>")
}
