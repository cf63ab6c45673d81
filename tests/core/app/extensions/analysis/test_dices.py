"""Who says unsafe, and the raters: counted by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import pytest

from app.extensions.analysis.public import Estimate, Finding, rater_profiles, unsafe
from experiments.instruments.dices_safety import columns

RATERS = {"1": ("Man", "gen z"), "2": ("Woman", "gen z"), "3": ("Woman", "gen x+"), "4": (None, "")}
HARMS = {"a": ("Benign", ""), "b": ("Extreme", "Religious,Aggressive"), "c": (None, "Aggressive")}
ANSWERS = {"1": "YNN", "2": "YYU", "3": "NYN", "4": "YNN"}
WORDS = {"Y": "Yes", "N": "No", "U": "Unsure"}


def table() -> pd.DataFrame:
    """Four raters of three conversations; a rater takes ten seconds more for each next one."""
    rows = [
        {
            "rater_id": rater, "item_id": item, "Q_overall": WORDS[answer], "rater_gender": RATERS[rater][0],
            "rater_race": None, "rater_age": RATERS[rater][1], "rater_education": None,
            "degree_of_harm": HARMS[item][0], "harm_type": HARMS[item][1],
            "answer_time_ms": 10_000 * (int(rater) + place),
            **dict.fromkeys(columns("dices-350"), "No"), "Q4_misinformation": WORDS[answer],
        }
        for rater, said in ANSWERS.items()
        for place, (item, answer) in enumerate(zip(HARMS, said, strict=True))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def named(findings: Sequence[Finding]) -> Mapping[str, Estimate]:
    return {one.name: one for finding in findings for one in finding.estimates}


def test_shares_of_yes_are_by_raters_degrees_and_every_type_of_harm() -> None:
    found = named(unsafe(table(), "dices-350"))
    assert {name.removeprefix("dices.yes."): (one.value, one.n, one.participants) for name, one in found.items()} == {
        "gender.Man": (pytest.approx(1 / 3), 3, 1),
        "gender.Woman": (0.5, 6, 2),
        "age.gen_z": (0.5, 6, 2),
        "age.gen_x+": (pytest.approx(1 / 3), 3, 1),
        "degree_of_harm.Benign": (0.75, 4, 4),
        "degree_of_harm.Extreme": (0.5, 4, 4),
        "harm_type.Aggressive": (0.25, 8, 4),
        "harm_type.Religious": (0.5, 4, 4),
    }
    assert found["dices.yes.gender.Woman"].further == {"No": pytest.approx(1 / 3), "Unsure": pytest.approx(1 / 6)}
    assert found["dices.yes.degree_of_harm.Benign"].low is not None


def test_raters_are_counted_and_their_times_are_medians_of_medians() -> None:
    found = named(rater_profiles(table(), "dices-350"))
    counts = {name.removeprefix("dices.raters."): one.value for name, one in found.items() if ".raters." in name}
    assert counts == {"all.all": 4, "gender.Man": 1, "gender.Woman": 2, "age.gen_z": 2, "age.gen_x+": 1}
    assert found["dices.raters.gender.Woman"].further["share"] == pytest.approx(2 / 3)
    times = {name.removeprefix("dices.answer_time."): one.value for name, one in found.items() if "_time." in name}
    assert times == {"all.all": 35, "gender.Man": 20, "gender.Woman": 35, "age.gen_z": 25, "age.gen_x+": 40}
    assert found["dices.answer_time.all.all"].low is not None
