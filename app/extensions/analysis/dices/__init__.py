"""The analysis of DICES's tables, for both editions. Aroyo et al., NeurIPS 2023."""

from collections.abc import Callable, Mapping

from app.extensions.analysis.base import AnalysisStep, call, table
from app.extensions.analysis.dices.agreement import PROFILE, agreement, dichotomy
from app.extensions.analysis.dices.answer_shares import HARM_COLUMNS, answered, experts, reasons, unsafe
from app.extensions.analysis.dices.grasp import groups, kept_groups
from app.extensions.analysis.dices.raters import TIME, filtered, rater_profiles
from app.extensions.analysis.estimates import Finding
from experiments.instruments.dices_safety import columns as reason_columns
from storage.schemas.dices import OVERALL

MEASURED: Mapping[str, str] = {
    "irr": "Krippendorff's nominal alpha of a group of raters",
    "plurality": "mean share of a group's most common answer",
    "negentropy": "mean negentropy of a group's answers, ln 3 - H in nats",
    "xrr": "cross-replication reliability between a group and all other raters",
    "voting_agreement": "alpha between the most common answers of a group and those of all other raters",
    "gai": "group association index (IRR/XRR) of a group",
}
NAMES: Mapping[str, str] = {
    "dices.alpha_nominal.<column>": "Krippendorff's alpha, with No, Unsure and Yes as unordered categories",
    "dices.alpha_ordinal.<column>": "Krippendorff's alpha, with No, Unsure and Yes as ordered categories",
    "dices.alpha_yes.<column>": "Krippendorff's alpha, Yes against No and Unsure",
    "dices.answers.<value>": "share of ratings with this answer",
    "dices.majority.<value>": "share of conversations for which this answer is the most common one",
    "dices.plurality.all": "mean share of a conversation's most common answer",
    "dices.negentropy.all": "mean negentropy of a conversation's answers, ln 3 - H in nats",
    "dices.gold_agreement.<gold>": "share of conversations whose most common answer is that of the experts",
    "dices.said_unsafe.<gold>": "mean share of raters who said Yes (unsafe), by the experts' answer",
    "dices.yes.<axis>.<group>": (
        "share of ratings that are Yes (unsafe), by group of raters, `degree_of_harm` or `harm_type`"
    ),
    "dices.reason.<column>": "share of ratings in which a single reason is answered with Yes",
    "dices.raters.<axis>.<group>": "number of raters in the group; `all.all`: of all",
    "dices.answer_time.<axis>.<group>": "median over raters of their median answer time, in seconds",
    "dices.filtered.<reason>": (
        "alpha without raters who were fast, nearly always gave the same answer, or are removed in the release"
    ),
    **{f"dices.{name}.<axis>.<group>": words for name, words in MEASURED.items()},
    "dices.dsi.<axis>": "the largest GAI of an axis's groups",
    **{
        f"dices.kept.{name}.<axis>.<group>": f"{words}; only raters kept in the release"
        for name, words in MEASURED.items()
    },
    "dices.kept.dsi.<axis>": "the largest GAI of an axis's groups; only raters kept in the release",
}


def parts(edition: str) -> tuple[AnalysisStep, ...]:
    columns = tuple(reversed(OVERALL[edition]))
    name = edition.replace("-", "_")
    first = edition == "dices-350"
    asked = ("rater_id", "item_id", "Q_overall")
    profile = (*asked, *(one for one in PROFILE if not (first and one == "rater_locale")))
    timed = (*asked, TIME) if first else asked

    def step(title: str, function: Callable[..., tuple[Finding, ...]], *columns: str) -> AnalysisStep:
        return AnalysisStep(title, call(function, table(name, columns), edition))

    alphas, yes = table(name, ("rater_id", "item_id", *columns)), table(name, asked)
    return (
        AnalysisStep("Agreement", call(agreement, alphas, columns, edition), quick=True),
        AnalysisStep("Agreement on Yes", call(dichotomy, yes, columns[:1], edition)),
        step("Answers", answered, *asked),
        *([step("Experts", experts, *asked, "safety_gold")] if first else []),
        step("Who says unsafe", unsafe, *profile, *HARM_COLUMNS),
        step("Reasons", reasons, "rater_id", "item_id", *reason_columns(edition)),
        step("Profiles of raters", rater_profiles, *profile, *([TIME] if first else [])),
        step("Raters", filtered, *timed),
        step("Groups of raters", groups, *profile),
        step("Groups of raters kept", kept_groups, *profile),
    )
