"""Helpfulness and correctness by model, in MathConverse's `mathconverse_interactions`.

Each rated reply counts once, on the scales from 0 to 6 (Collins et al.: Evaluating language models for mathematics
through interactions. PNAS 2024). A correctness of 0 says that the reply holds no mathematics; the paper's means count
it as a number, so both are given, with it and without.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pandas as pd

from app.analysis.estimates import NUMBER, Estimate, Finding, Group, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of

TABLE = "mathconverse_interactions"
COLUMNS = ("model", "uid", "helpfulness_ratings", "correctness_ratings")
"""The columns that are needed."""
SCALE = (0, 6)
METHOD = (
    "Means are over rated replies, on the scale from 0 to 6. The 95 % interval is mean ± t standard errors, by leaving "
    "out one participant at a time, as replies share participants (cluster jackknife; MacKinnon, Nielsen and Webb "
    "2023), with one degree of freedom less than there are participants."
)
WITHOUT = "Replies of correctness 0, which hold no mathematics, are left out here; the published means count them as 0."
CODE = f'ratings(frame(database, study, "{TABLE}", origin))'


def turns(interactions: pd.DataFrame) -> pd.DataFrame:
    """A row for each reply: `model`, `uid`, `turn` from 1, `helpfulness` and `correctness`; unrated ones are unknown.

    `interactions` has the columns of MathConverse's release, whose cells are lists as Python writes them.
    """
    found = interactions[["model", "uid"]].copy()
    for name in ("helpfulness", "correctness"):
        found[name] = [_listed(cell) for cell in interactions[f"{name}_ratings"]]
    found["turn"] = [list(range(1, len(given) + 1)) for given in found["helpfulness"]]
    found = found[found["turn"].map(len) > 0]
    told = found.explode(["helpfulness", "correctness", "turn"], ignore_index=True)
    return told.astype({"helpfulness": "float64", "correctness": "float64", "turn": "int64"})


def ratings(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness by model; nothing where no reply is rated.

    Names: `mathconverse.mean.helpfulness.<model>`, `mathconverse.mean.correctness.<model>`,
    `mathconverse.mean.correctness_without_0.<model>`.
    """
    told = turns(interactions)
    mathematical = told.assign(correctness=told["correctness"].where(told["correctness"] > 0))
    found = (
        _finding(told, "helpfulness", "helpfulness", "Helpfulness by model"),
        _finding(told, "correctness", "correctness", "Correctness by model"),
        _finding(mathematical, "correctness", "correctness_without_0", "Correctness by model, without 0", WITHOUT),
    )
    return tuple(finding for finding in found if finding.estimates)


def _listed(cell: str) -> list[int | None]:
    """A cell's ratings: numbers or None, as Python writes them, which is JSON but for the word for nothing."""
    found: list[int | None] = orjson.loads(cell.replace("None", "null"))
    return found


def _finding(told: pd.DataFrame, column: str, name: str, title: str, note: str = "") -> Finding:
    rated = told[told[column].notna()]
    estimates = tuple(_by_model(rated, column, name))
    return Finding(f"mathconverse.mean.{name}", title, "ratings", NUMBER, SCALE, estimates, METHOD, CODE, note=note)


def _by_model(rated: pd.DataFrame, column: str, name: str) -> Iterator[Estimate]:
    for model, rows in rated.groupby("model", sort=True):
        people = codes(rows["uid"])
        group = Group(
            f"mathconverse.mean.{name}.{slug(model)}", str(model), len(rows), number_of(people), {"model": str(model)}
        )
        but = " where they hold mathematics" if name.endswith("_0") else ""
        said = f"Replies of {model} had a mean {column} of {{}} (of 6){but}"
        yield estimate(group, mean_of(rows[column].to_numpy(), people, scale=SCALE), said, NUMBER, "ratings")
