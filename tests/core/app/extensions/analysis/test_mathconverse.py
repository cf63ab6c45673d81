"""MathConverse's published figures: equal to what plain Python counts in the same rows, and in small known cases."""

from __future__ import annotations

import ast
import csv
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from statistics import correlation as pearson
from statistics import fmean, linear_regression, median
from typing import Any

import pandas as pd
import pytest

from app.extensions.analysis.mathconverse import PARTS
from app.extensions.analysis.public import Estimate, distribution
from tests.fakes.figures import midranks, named

SHORT = {
    "Current undergraduate studying mathematics": "undergraduate",
    "Undegraduate degree in mathematics": "degree",
    "Masters degree in mathematics": "masters",
    "PhD in mathematics": "phd",
    "Professor in mathematics": "professor",
    "Never studied for a math degree / not enrolled in math degree": "never",
}
# Model, participant, conversation, turn, helpfulness, correctness, expertise, confidence.
Turn = tuple[str, str, int, int, int, int, str, str]


def found(data: pd.DataFrame) -> Mapping[str, Estimate]:
    findings = [finding for part in PARTS for finding in part.analyse(dict.fromkeys(part.tables, data))]
    return named(findings)


def short(value: str) -> str:
    return SHORT.get(value, value.replace(" ", "_"))


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[dict[str, Any]]:
    return rows_of(shared / "mathconverse_part.csv")


@pytest.fixture(scope="module")
def told(rows: list[dict[str, Any]]) -> list[Turn]:
    found = []
    for number, row in enumerate(rows):
        both = zip(
            ast.literal_eval(row["helpfulness_ratings"]), ast.literal_eval(row["correctness_ratings"]), strict=True
        )
        for turn, (helpful, correct) in enumerate(both, 1):
            who = (row["model"], row["uid"], number, turn)
            found.append((*who, helpful, correct, row["mth_bkgrd"], row["solo_solve"]))
    return found


@pytest.fixture(scope="module")
def estimates(shared: Path) -> Mapping[str, Estimate]:
    return found(pd.read_csv(shared / "mathconverse_part.csv", keep_default_na=False))


def check(estimate: Estimate, value: float, n: int) -> None:
    assert (estimate.value, estimate.n) == (pytest.approx(value, abs=1e-9), n)


def test_means_are_those_of_an_independent_count(told: list[Turn], estimates: Mapping[str, Estimate]) -> None:
    for at, scale in ((4, "helpfulness"), (5, "correctness")):
        for end, some in (("", told), ("_without_0", [turn for turn in told if turn[5] > 0])):
            check(estimates[f"mathconverse.mean.{scale}{end}.all"], fmean(turn[at] for turn in some), len(some))
            for model in {turn[0] for turn in told}:
                own = [turn[at] for turn in some if turn[0] == model]
                check(estimates[f"mathconverse.mean.{scale}{end}.{model}"], fmean(own), len(own))
        for by, column in (("turn", 3), ("expertise", 6), ("confidence", 7)):
            groups: dict[str, list[int]] = defaultdict(list)
            for turn in told:
                groups[str(turn[column])].append(turn[at])
            start = f"mathconverse.by_{by}.{scale}."
            assert {name for name in estimates if name.startswith(start)} == {start + short(value) for value in groups}
            for value, own in groups.items():
                check(estimates[start + short(value)], fmean(own), len(own))


def test_correlations_are_those_of_an_independent_count(told: list[Turn], estimates: Mapping[str, Estimate]) -> None:
    pairs = {
        "helpfulness_correctness": [(turn[4], turn[5]) for turn in told],
        "helpfulness_correctness_without_0": [(turn[4], turn[5]) for turn in told if turn[5] > 0],
        "confidence_helpfulness": [(int(turn[7]), turn[4]) for turn in told if turn[7] != "MISSING"],
        "confidence_correctness": [(int(turn[7]), turn[5]) for turn in told if turn[7] != "MISSING"],
    }
    for name, both in pairs.items():
        x, y = zip(*both, strict=True)
        check(estimates[f"mathconverse.pearson.{name}"], pearson(x, y), len(both))
        check(estimates[f"mathconverse.spearman.{name}"], pearson(midranks(x), midranks(y)), len(both))


def test_distributions_are_those_of_an_independent_count(shared: Path, told: list[Turn]) -> None:
    (finding,) = distribution(pd.read_csv(shared / "mathconverse_part.csv", keep_default_na=False))
    for at, scale in ((4, "helpfulness"), (5, "correctness")):
        own = Counter(turn[at] for turn in told)
        for value in range(7):
            one = named([finding])[f"mathconverse.distribution.{scale}.{value}"]
            check(one, own[value] / len(told), len(told))
            assert one.further["count"] == own[value]
    assert finding.scatter is not None
    pairs = {(point.y, point.x): point.n for point in finding.scatter.points}
    assert pairs == Counter((turn[4], turn[5]) for turn in told)


def test_the_trend_is_that_of_an_independent_count(told: list[Turn], estimates: Mapping[str, Estimate]) -> None:
    for at, scale in ((4, "helpfulness"), (5, "correctness")):
        ratings = [float(turn[at]) for turn in told]
        check(estimates[f"mathconverse.trend.{scale}"], linear_regression([t[3] for t in told], ratings)[0], len(told))
        own = defaultdict(list)
        for turn in told:
            own[turn[2]].append((turn[3], turn[at]))
        less = [
            (x - fmean(a for a, _ in some), y - fmean(b for _, b in some)) for some in own.values() for x, y in some
        ]
        within = sum(x * y for x, y in less) / sum(x * x for x, _ in less)
        check(estimates[f"mathconverse.trend.{scale}_within"], within, len(told))


def test_divergence_lengths_and_backgrounds_are_those_of_an_independent_count(
    rows: list[dict[str, Any]], told: list[Turn], estimates: Mapping[str, Estimate]
) -> None:
    cells = {
        "right_unhelpful": sum(turn[5] == 6 and turn[4] <= 3 for turn in told),
        "helpful_wrong": sum(turn[4] >= 5 and turn[5] in (1, 2) for turn in told),
    }
    for name, number in cells.items():
        one = estimates[f"mathconverse.divergence.{name}"]
        check(one, number / len(told), len(told))
        assert one.further["count"] == number
    lengths = [len(ast.literal_eval(row["human_interactions"])) for row in rows]
    for name, value in (("mean", fmean(lengths)), ("median", median(lengths)), ("max", max(lengths))):
        check(estimates[f"mathconverse.turns.{name}"], value, len(rows))
    for turns, number in Counter(lengths).items():
        check(estimates[f"mathconverse.stopped_after.{turns}"], number / len(rows), len(rows))
    for name, column in (("expertise", "mth_bkgrd"), ("ai_experience", "ai_play_bkgrd"), ("topic", "selected_topic")):
        people = Counter({row["uid"]: row[column] for row in rows}.values())
        start = f"mathconverse.participants.{name}."
        counts = {one.name: one.further["count"] for one in estimates.values() if one.name.startswith(start)}
        assert counts == {start + short(value): number for value, number in people.items()}


def test_preferences_are_those_of_an_independent_count(
    rows: list[dict[str, Any]], estimates: Mapping[str, Estimate]
) -> None:
    met: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        met[row["uid"], row["interaction_set_idx"]].add(row["model"])
    given_ = {(r["uid"], r["interaction_set_idx"]): r["final_prefs"] for r in rows if r["final_prefs"] != "MISSING"}
    every = {key: ast.literal_eval(cell) for key, cell in given_.items()}
    whole = {key: ranks for key, ranks in every.items() if len(met[key]) == 3}
    assert 0 < len(whole) < len(every)
    assert any(min(ranks.values()) > 1 for ranks in every.values()), "some are ranked without a 1"
    for end, sets in (("", every), ("_complete", whole)):
        kinds = Counter(len(set(ranks.values())) for ranks in sets.values())
        assert estimates[f"mathconverse.ties{end}.some"].further["count"] == kinds[1] + kinds[2]
        assert estimates[f"mathconverse.ties{end}.all"].further["count"] == kinds[1]
        for model in ("chatgpt", "chatgpt4", "instructgpt"):
            own = [ranks[model] for ranks in sets.values()]
            check(estimates[f"mathconverse.mean_rank{end}.{model}"], fmean(own), len(sets))
            first = fmean(ranks[model] == min(ranks.values()) for ranks in sets.values())
            check(estimates[f"mathconverse.best_or_tied{end}.{model}"], first, len(sets))
            alone = sum(
                sorted(ranks, key=ranks.get)[0] == model and Counter(ranks.values())[ranks[model]] == 1
                for ranks in sets.values()
            )
            assert estimates[f"mathconverse.strict_best{end}.{model}"].further["count"] == alone
    for one, other in combinations(("chatgpt", "chatgpt4", "instructgpt"), 2):
        wins = fmean((ranks[one] < ranks[other]) + (ranks[one] == ranks[other]) / 2 for ranks in every.values())
        check(estimates[f"mathconverse.preferred.{one}.{other}"], wins, len(every))


def test_what_ratings_foretell_is_that_of_an_independent_count(
    rows: list[dict[str, Any]], estimates: Mapping[str, Estimate]
) -> None:
    for scale in ("helpfulness", "correctness"):
        hits = []
        for one, other in combinations(rows, 2):
            same = all(one[name] == other[name] for name in ("uid", "interaction_set_idx"))
            if (
                not same
                or one["final_prefs"] == "MISSING"
                or "[]" in (one[f"{scale}_ratings"], other[f"{scale}_ratings"])
            ):
                continue
            ranks = ast.literal_eval(one["final_prefs"])
            apart = ranks[other["model"]] - ranks[one["model"]]
            more = fmean(ast.literal_eval(one[f"{scale}_ratings"])) - fmean(ast.literal_eval(other[f"{scale}_ratings"]))
            if apart:
                hits.append(0.5 if abs(more) < 1e-12 else float((more > 0) == (apart > 0)))
        check(estimates[f"mathconverse.predicts_preference.{scale}"], fmean(hits), len(hits))
