"""The analysis of DICES's tables, for both editions. Aroyo et al., NeurIPS 2023."""

from collections.abc import Callable

from app.extensions.analysis.base import AnalysisStep, call, table
from app.extensions.analysis.dices.agreement import PROFILE, agreement, dichotomy
from app.extensions.analysis.dices.answer_shares import HARM_COLUMNS, answered, experts, rater_profiles, reasons, unsafe
from app.extensions.analysis.dices.grasp import groups, kept_groups
from app.extensions.analysis.estimates import Finding
from experiments.instruments.dices_safety import columns as reason_columns
from storage.schemas.dices import OVERALL


def parts(edition: str) -> tuple[AnalysisStep, ...]:
    columns = tuple(reversed(OVERALL[edition]))
    name = edition.replace("-", "_")
    first = edition == "dices-350"
    asked = ("rater_id", "item_id", "Q_overall")
    profile = (*asked, *(one for one in PROFILE if not (first and one == "rater_locale")))

    def step(function: Callable[..., tuple[Finding, ...]], *columns: str) -> AnalysisStep:
        return AnalysisStep(call(function, table(name, columns), edition))

    alphas, yes = table(name, ("rater_id", "item_id", *columns)), table(name, asked)
    return (
        AnalysisStep(call(agreement, alphas, columns, edition), quick=True),
        AnalysisStep(call(dichotomy, yes, columns[:1], edition)),
        step(answered, *asked),
        *([step(experts, *asked, "safety_gold")] if first else []),
        step(unsafe, *profile, *HARM_COLUMNS),
        step(reasons, "rater_id", "item_id", *reason_columns(edition)),
        step(rater_profiles, *profile),
        step(groups, *profile),
        step(kept_groups, *profile),
    )
