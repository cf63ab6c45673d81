"""Who says unsafe, and of what: the share of Yes by group of raters, degree and type of harm, and single reason.

Yes means unsafe. A group of raters is a value of a column of their profile; a conversation counts for each of its
types of harm, which the release joins by commas.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.dices.agreement import ORDER
from app.analysis.dices.answer_shares import COLUMN, WILSON
from app.analysis.dices.rater_pool import PROFILE
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, number_of, share_of
from experiments.instruments.dices_safety import REASONS
from problems.dices import DOMAINS

DEGREE, TYPE = "degree_of_harm", "harm_type"
HARM_COLUMNS = (DEGREE, TYPE)
SHARES = f"The share of ratings of {COLUMN} that are Yes (unsafe). {WILSON}"
EACH_REASON = f"The share of ratings in which the reason is answered with Yes. {WILSON}"


def unsafe(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """The share of ratings that are Yes by group of raters, degree of harm and type of harm.

    Names: `dices.yes.<axis>.<group>` for the axes gender, race, age, education and locale of raters, and
    `degree_of_harm` and `harm_type`; the shares of No and Unsure are in `further`. Groups that do not occur are absent.
    """
    given = ratings[ratings[COLUMN].isin(ORDER)]
    code = f'unsafe(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    typed = given.assign(**{TYPE: given[TYPE].fillna("").str.split(",")}).explode(TYPE)
    typed = typed.assign(**{TYPE: typed[TYPE].str.strip()})
    parts = (
        ("dices.yes", "Said unsafe, by group of raters", given, [name for name in PROFILE if name in given], ""),
        ("dices.yes_by_degree", "Said unsafe, by degree of harm", given, [DEGREE], ""),
        ("dices.yes_by_type", "Said unsafe, by type of harm", typed, [TYPE], "A conversation may have several types."),
    )
    found = (
        Finding(
            name, f"{title} ({edition})", "ratings", SHARE, (0, 1),
            tuple(one for column in columns for one in _by(rows, column)), SHARES, code, note=note,
        )
        for name, title, rows, columns, note in parts
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def reasons(ratings: pd.DataFrame, edition: str) -> tuple[Finding, ...]:
    """The share of ratings in which each single reason is answered with Yes. Names: `dices.reason.<column>`."""
    people, items = codes(ratings["rater_id"]), codes(ratings["item_id"])
    estimates = []
    for question, asked in REASONS[edition].items():
        for column, words in asked.items():
            given = ratings[column].isin(ORDER).to_numpy()
            if given.any():
                hits = (ratings[column] == "Yes").to_numpy()[given].astype(np.float64)
                groups = {"column": column, "question": question}
                rater_count = ratings.loc[given, "rater_id"].nunique()
                group = EstimateGroup(f"dices.reason.{column}", words, hits.size, rater_count, groups)
                found = share_of(hits, codes(people[given]), codes(items[given]))
                further = {"count": float(hits.sum())}
                said = f"{{}} of ratings gave the reason “{words}”"
                estimates.append(estimate(group, found, said, SHARE, "ratings", further=further))
    if not estimates:
        return ()
    code = f'reasons(frame(database, study, "{edition.replace("-", "_")}", origin), "{edition}")'
    title = f"Reasons to say unsafe ({edition})"
    return (Finding("dices.reason", title, "ratings", SHARE, (0, 1), tuple(estimates), EACH_REASON, code),)


def _by(ratings: pd.DataFrame, column: str) -> Iterator[Estimate]:
    known = ratings[ratings[column].notna() & (ratings[column] != "")]
    axis = column.removeprefix("rater_")
    for value in values_of(known, column):
        rows = known[known[column] == value]
        people, items = codes(rows["rater_id"]), codes(rows["item_id"])
        shares = {answer: float((rows[COLUMN] == answer).mean()) for answer in ORDER if answer != "Yes"}
        groups = {"axis": axis, "group": value}
        group = EstimateGroup(f"dices.yes.{axis}.{slug(value)}", value, len(rows), number_of(people), groups)
        found = share_of((rows[COLUMN] == "Yes").to_numpy().astype(np.float64), people, items)
        said = f"Of ratings {WHOSE.get(column, 'by raters who are')} {value}, {{}} were Yes (unsafe)"
        yield estimate(group, found, said, SHARE, "ratings", further=shares)


WHOSE = {
    DEGREE: "of conversations with the degree of harm",
    TYPE: "of conversations with the type of harm",
    "rater_locale": "by raters in",
    "rater_education": "by raters with the education",
}


def values_of(known: pd.DataFrame, column: str) -> tuple[str, ...]:
    """The values of a column that occur: in the order of the release, if it has one, else by name."""
    there = set(known[column].astype(str))
    declared = ORDERS.get(column, ())
    return (*(value for value in declared if value in there), *sorted(there - {*declared}))


ORDERS = {
    DEGREE: DOMAINS[DEGREE],
    "rater_age": ("gen z", "millenial", "gen x+"),
    "rater_education": ("High school or below", "College degree or higher", "Other"),
}
"""The order of values that have one; ages are spelled as in the release."""
