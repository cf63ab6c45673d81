"""DICES's questions about raters (Aroyo et al., NeurIPS 2023): the released values of each column.

Values are spelled as in the release ("millenial"). Those of closed columns are the class labels of tensorflow-datasets'
builder `dices`. How raters were asked about race or ethnicity was not released, but what they answered was: texts from
a list, joined by commas where a rater chose several. The list is taken from the authors' R script
`preprocess_and_cache_data.R` (Homan et al., arXiv 2306.11530), which names every text that occurs in either edition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ASIAN = "Asian/Asian subcontinent"
BLACK = "Black/African American"
LATINE = "LatinX, Latino, Hispanic or Spanish Origin"
MULTIRACIAL = "Multiracial"
OTHER = "Other"
WHITE = "White"
RACES = (ASIAN, BLACK, LATINE, MULTIRACIAL, OTHER, WHITE)

CLOSED: Mapping[str, tuple[str, ...]] = {
    "rater_gender": ("Man", "Woman", "Nonbinary", "Self-describe (below)"),
    "rater_locale": ("IN", "US"),
    "rater_race": RACES,
    "rater_age": ("gen z", "millenial", "gen x+"),
    "rater_education": ("High school or below", "College degree or higher", OTHER),
}

NO_ANSWER = "Prefer not to answer"
# What raters could choose for their race or ethnicity, in the order in which choices are joined, and its group in
# `rater_race`.
RAW_RACES: Mapping[str, str] = {
    "White": WHITE,
    "Black or African American": BLACK,
    "LatinX, Latino, Hispanic or Spanish Origin": LATINE,
    "Latino, Hispanic or Spanish Origin": LATINE,
    "American Indian or Alaska Native": OTHER,
    "Mexican Indigenous": OTHER,
    "Asian": ASIAN,
    "East or South-East Asian": ASIAN,
    "Indian": ASIAN,
    "Indian subcontinent (including Bangladesh, Bhutan, India, Maldives, Nepal, Pakistan, and Sri Lanka)": ASIAN,
    "Middle Eastern or North African": OTHER,
    "Native Hawaiian or other Pacific Islander": OTHER,
    "Mixed": MULTIRACIAL,
    "Other": OTHER,
    NO_ANSWER: OTHER,
}
# The column with these choices, in DICES-350 and in DICES-990.
RAW_RACE_COLUMNS = ("rater_raw_race", "rater_race_raw")
JOINED = ", "

PHASES: Mapping[str, str] = {
    "Phase1": "The first round of rating, of DICES-990.",
    "Phase2": "The second round of rating, of DICES-990.",
    "Phase3": "The third round of rating, of DICES-350.",
}
# The phase of a study's own ratings, by edition, unless the study names another.
PHASE_OF: Mapping[str, str] = {"dices-350": "Phase3", "dices-990": "Phase1"}


def raw_race(chosen: Sequence[str]) -> str | None:
    """The choices as the column has them: joined, in the order of the list; None if nothing is chosen."""
    order = {one: place for place, one in enumerate(RAW_RACES)}
    return JOINED.join(sorted(chosen, key=lambda one: order.get(one, len(order)))) or None


def race_of(chosen: Sequence[str]) -> str | None:
    """A choice gives its group, several Multiracial, one that is not in the list Other; None without any. The release
    has no words for this rule, only its results; the published rows agree with it."""
    if not chosen:
        return None
    groups = {RAW_RACES.get(one, OTHER) for one in chosen if one != NO_ANSWER}
    if len(groups) > 1:
        return MULTIRACIAL
    return groups.pop() if groups else OTHER
