"""How DICES's raters answered, whether experts say the same, who says unsafe, and the raters: counted by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.dices import parts
from app.extensions.analysis.dices.grasp import REMOVED
from app.extensions.analysis.public import Finding, answered, experts, rater_profiles, unsafe
from experiments.instruments.dices_safety import columns as reason_columns
from storage.schemas.registry import released
from tests.fakes.examples import examples
from tests.fakes.figures import named

EDITIONS = ("dices-350", "dices-990")


def published(shared: Path) -> pd.DataFrame:
    wide = pd.read_csv(shared / "dices350_q_overall_part.csv", dtype=str)
    return wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")


def test_published_answers_are_those_counted_by_loops(shared: Path) -> None:
    rows = published(shared)
    found = named((*answered(rows, "dices-350"), *experts(rows, "dices-350")))
    every = Counter(rows["Q_overall"])
    by_item: dict[str, list[str]] = {}
    for item, _, answer in sorted(zip(rows["item_id"], rows["rater_id"], rows["Q_overall"], strict=True)):
        by_item.setdefault(item, []).append(answer)
    gold = dict(zip(rows["item_id"], rows["safety_gold"], strict=True))
    most = {item: Counter(said).most_common(1)[0][0] for item, said in by_item.items()}
    for value in ("No", "Unsure", "Yes"):
        assert found[f"dices.answers.{value}"].further["count"] == every[value]
        assert found[f"dices.majority.{value}"].further["count"] == sum(each == value for each in most.values())
    agreed = [most[item] == gold[item] for item in gold]
    assert found["dices.gold_agreement.all"].value == pytest.approx(np.mean(agreed), abs=1e-9)
    unsafe = [said.count("Yes") / len(said) for item, said in by_item.items() if gold[item] == "Yes"]
    assert found["dices.said_unsafe.Yes"].value == pytest.approx(np.mean(unsafe), abs=1e-9)


profile = st.tuples(
    st.sampled_from(["a", "b", "c", "d", "e", sorted(REMOVED["dices-350"])[0], sorted(REMOVED["dices-990"])[0]]),
    st.sampled_from(["1", "2", "3"]), st.sampled_from(["No", "Yes", "Unsure", None]),
    st.sampled_from(["Man", "Woman", None]), st.sampled_from(["White", "Asian/Asian subcontinent", None]),
)  # fmt: skip


@pytest.mark.parametrize("edition", EDITIONS)
@examples(3)  # each is a thousand permutations
@given(rows=st.lists(profile, max_size=14, unique_by=lambda row: row[:2]))
def test_every_name_is_told_of_once_and_every_part_bears_any_rows(
    edition: str, rows: list[tuple[str | None, ...]]
) -> None:
    columns = ["rater_id", "item_id", "Q_overall", "rater_gender", "rater_race"]
    given_ = pd.DataFrame(rows, columns=columns, dtype="object")
    found: list[Finding] = []
    for part in parts(edition):
        ((name, needed),) = part.tables.items()
        assert {*needed} <= {column.name for column in released(name).columns}
        if "groups" not in part.call.code or len(rows) > 8:
            blank = {column: None for column in needed if column not in columns}
            asked = given_.assign(**blank)[list(needed)]
            for column in needed:
                if column.endswith("_overall"):
                    asked[column] = given_["Q_overall"]
            found += part.analyse({name: asked})
    named(found)


RATERS = {"1": ("Man", "gen z"), "2": ("Woman", "gen z"), "3": ("Woman", "gen x+"), "4": (None, "")}
HARMS = {"a": ("Benign", ""), "b": ("Extreme", "Religious,Aggressive"), "c": (None, "Aggressive")}
ANSWERS = {"1": "YNN", "2": "YYU", "3": "NYN", "4": "YNN"}
WORDS = {"Y": "Yes", "N": "No", "U": "Unsure"}


def table() -> pd.DataFrame:
    """Four raters of three conversations."""
    rows = [
        {
            "rater_id": rater, "item_id": item, "Q_overall": WORDS[answer], "rater_gender": RATERS[rater][0],
            "rater_race": None, "rater_age": RATERS[rater][1], "rater_education": None,
            "degree_of_harm": HARMS[item][0], "harm_type": HARMS[item][1],
            **dict.fromkeys(reason_columns("dices-350"), "No"), "Q4_misinformation": WORDS[answer],
        }
        for rater, said in ANSWERS.items()
        for item, answer in zip(HARMS, said, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


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


def test_raters_are_counted_by_what_they_said_about_themselves() -> None:
    found = named(rater_profiles(table(), "dices-350"))
    counts = {name.removeprefix("dices.raters."): one.value for name, one in found.items() if ".raters." in name}
    assert counts == {"all.all": 4, "gender.Man": 1, "gender.Woman": 2, "age.gen_z": 2, "age.gen_x+": 1}
    assert found["dices.raters.gender.Woman"].further["share"] == pytest.approx(2 / 3)
