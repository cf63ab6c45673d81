"""Helpfulness and correctness by model, in MathConverse's `mathconverse_interactions`.

Each rated reply counts once, on the scales from 0 to 6 (Collins et al.: Evaluating language models for mathematics
through interactions. PNAS 2024). A correctness of 0 means that the reply contains no mathematics. The paper's means
include it as a number, so means with and without it are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import orjson
import pandas as pd

from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, mean_of

TABLE = "mathconverse_interactions"
COLUMNS = ("model", "uid", "helpfulness_ratings", "correctness_ratings")
"""The columns that are needed."""
SCALES = ("helpfulness", "correctness")
SCALE = (0, 6)
METHOD = (
    "Means are over rated replies, on the scale from 0 to 6. The 95 % interval is mean ± t standard errors, by leaving "
    "out one participant at a time (cluster jackknife; MacKinnon, Nielsen and Webb 2023), because replies share "
    "participants; t has one degree of freedom less than there are participants."
)
WITHOUT = "Replies of correctness 0, which contain no mathematics, are left out; the published means count them as 0."
WITHOUT_TOO = "Without correctness 0: without replies that contain no mathematics."
CODE = f'ratings(frame(database, study, "{TABLE}", origin))'


def turns(interactions: pd.DataFrame, also: tuple[str, ...] = ()) -> pd.DataFrame:
    """A row for each reply: `model`, `uid`, `turn` from 1, `helpfulness` and `correctness`; unrated ones are unknown.

    `interactions` has the columns of MathConverse's release, whose cells are lists as Python writes them. `also` are
    more of its columns; `trace` numbers the conversations.
    """
    found = interactions[["model", "uid", *also]].copy()
    found["trace"] = range(len(found))
    for name in SCALES:
        found[name] = [listed(cell) for cell in interactions[f"{name}_ratings"]]
    found["turn"] = [list(range(1, len(given) + 1)) for given in found["helpfulness"]]
    found = found[found["turn"].map(len) > 0]
    rows = found.explode(["helpfulness", "correctness", "turn"], ignore_index=True)
    return rows.astype({"helpfulness": "float64", "correctness": "float64", "turn": "int64"})


def ratings(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness by model; empty if no reply is rated.

    Names: `mathconverse.mean.helpfulness.<model>`, `mathconverse.mean.correctness.<model>`,
    `mathconverse.mean.correctness_without_0.<model>`.
    """
    rated_turns = turns(interactions)
    without = mathematical(rated_turns)
    found = (
        _finding(rated_turns, "helpfulness", "helpfulness", "Helpfulness by model"),
        _finding(rated_turns, "correctness", "correctness", "Correctness by model"),
        _finding(without, "correctness", "correctness_without_0", "Correctness by model, without 0", WITHOUT),
    )
    return tuple(finding for finding in found if finding.estimates)


def ratings_overall(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean helpfulness and correctness over all models; by model, helpfulness of replies that contain mathematics.

    Names: `mathconverse.mean.helpfulness.all`, `mathconverse.mean.correctness.all`, both also as `..._without_0.all`;
    `mathconverse.mean.helpfulness_without_0.<model>`.
    """
    rated_turns = turns(interactions)
    code = f'ratings_overall(frame(database, study, "{TABLE}", origin))'
    found = (
        Finding(
            "mathconverse.mean_of_all", "Helpfulness and correctness over all models", "ratings", NUMBER, SCALE,
            tuple(_of_all(rated_turns)), METHOD, code, note=WITHOUT_TOO,
        ),
        replace(
            _finding(
                mathematical(rated_turns), "helpfulness", "helpfulness_without_0",
                "Helpfulness by model, without replies of correctness 0", WITHOUT_TOO,
            ),
            code=code,
        ),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _of_all(rated_turns: pd.DataFrame) -> Iterator[Estimate]:
    for end, some, but in (
        ("", rated_turns, ""),
        ("_without_0", mathematical(rated_turns), " if they contain mathematics"),
    ):
        for scale in SCALES:
            rows = some[some[scale].notna()]
            label = f"{scale}, without correctness 0" if end else scale
            if len(rows):
                group = grouped(f"mathconverse.mean.{scale}{end}.all", label, rows, {"model": "all"})
                yield mean_rating(
                    group, rows, scale, f"Over all models, replies had a mean {scale} of {{}} (of 6){but}"
                )


def mathematical(rated_turns: pd.DataFrame) -> pd.DataFrame:
    """The turns with a correctness rating above 0, so a reply that contains mathematics."""
    return rated_turns[rated_turns["correctness"] > 0]


def mean_rating(group: EstimateGroup, rows: pd.DataFrame, column: str, said: str) -> Estimate:
    """The mean of some replies' ratings, with its interval by participants."""
    found = mean_of(rows[column].to_numpy(), codes(rows["uid"]), scale=SCALE)
    return estimate(group, found, said, NUMBER, "ratings")


def grouped(name: str, label: str, rows: pd.DataFrame, groups: Mapping[str, str]) -> EstimateGroup:
    """The group that rows of participants (`uid`) make."""
    return EstimateGroup(name, label, len(rows), rows["uid"].nunique(), groups)


def listed(cell: str) -> list[int | None]:
    """Parse a cell of ratings, a Python list of numbers and None: JSON except for None instead of null."""
    found: list[int | None] = orjson.loads(cell.replace("None", "null"))
    return found


def _finding(rated_turns: pd.DataFrame, column: str, name: str, title: str, note: str = "") -> Finding:
    rated = rated_turns[rated_turns[column].notna()]
    estimates = tuple(_by_model(rated, column, name))
    return Finding(f"mathconverse.mean.{name}", title, "ratings", NUMBER, SCALE, estimates, METHOD, CODE, note=note)


def _by_model(rated: pd.DataFrame, column: str, name: str) -> Iterator[Estimate]:
    for model, rows in rated.groupby("model", sort=True):
        group = grouped(f"mathconverse.mean.{name}.{slug(model)}", str(model), rows, {"model": str(model)})
        but = " where they hold mathematics" if name.endswith("_0") else ""
        said = f"Replies of {model} had a mean {column} of {{}} (of 6){but}"
        yield mean_rating(group, rows, column, said)
