from typing import Any

import pytest
from pydantic import ValidationError

from experiments.study.sections.prolific import ProlificRecruitment

LEAST: dict[str, Any] = {"description": "A talk", "reward": "1.50", "minutes": 10, "spend_limit": 100}
OUT = {"reward": "0.20", "places": 5}


@pytest.mark.parametrize(
    "wrong",
    [
        {"filter_set": "f1", "only_groups": ["g1"]},
        {"codes": {"timed_out": "screen_out"}},
        {"screen_out": {**OUT, "reward": "1.50"}},
        {"reward": "0"},
        {"devices": ["desk"]},
    ],
)
def test_what_prolific_would_refuse_is_an_error_of_the_study_file(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProlificRecruitment(**LEAST | wrong)


def test_who_is_screened_out_is_paid_where_a_payment_is_given() -> None:
    assert ProlificRecruitment(**LEAST).action("screened_out") == "return"
    paid = ProlificRecruitment(**LEAST, screen_out=OUT, codes={"complete": "approve"})
    assert [paid.action(name) for name in ("screened_out", "complete", "timed_out")] == [
        "screen_out",
        "approve",
        "review",
    ]
