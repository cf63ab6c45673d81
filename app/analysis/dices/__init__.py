"""The analysis of DICES's tables, for both editions. Aroyo et al., NeurIPS 2023."""

from collections.abc import Mapping
from functools import partial

from app.analysis.base import AnalysisStep, of_one
from app.analysis.dices.agreement import agreement, dichotomy
from app.analysis.dices.answer_shares import answered, experts
from app.analysis.dices.grasp import groups, kept_groups
from app.analysis.dices.rater_pool import PROFILE
from app.analysis.dices.rater_profiles import TIME, rater_profiles
from app.analysis.dices.raters import filtered
from app.analysis.dices.unsafe import HARM_COLUMNS, reasons, unsafe
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
    """The parts for `dices-350` or `dices-990`."""
    columns = tuple(reversed(OVERALL[edition]))
    table = edition.replace("-", "_")
    first = edition == "dices-350"
    asked = ("rater_id", "item_id", "Q_overall")
    profile = (*asked, *(name for name in PROFILE if not (first and name == "rater_locale")))
    timed = (*asked, TIME) if first else asked
    alphas = partial(agreement, columns=columns, edition=edition)
    yes = partial(dichotomy, columns=columns[:1], edition=edition)
    golden = (of_one("Experts", table, (*asked, "safety_gold"), partial(experts, edition=edition)),) if first else ()
    return (
        of_one("Agreement", table, ("rater_id", "item_id", *columns), alphas, quick=True),
        of_one("Agreement on Yes", table, asked, yes),
        of_one("Answers", table, asked, partial(answered, edition=edition)),
        *golden,
        of_one("Who says unsafe", table, (*profile, *HARM_COLUMNS), partial(unsafe, edition=edition)),
        of_one("Reasons", table, ("rater_id", "item_id", *reason_columns(edition)), partial(reasons, edition=edition)),
        of_one(
            "Profiles of raters",
            table,
            (*profile, *((TIME,) if first else ())),
            partial(rater_profiles, edition=edition),
        ),
        of_one("Raters", table, timed, partial(filtered, edition=edition)),
        of_one("Groups of raters", table, profile, partial(groups, edition=edition)),
        of_one("Groups of raters kept", table, profile, partial(kept_groups, edition=edition)),
    )
