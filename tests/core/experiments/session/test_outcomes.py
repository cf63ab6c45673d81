"""Every outcome is known where something follows from it."""

from __future__ import annotations

from app.use_cases.pay import TO_DO
from experiments.session.outcomes import COMMON, OUTCOMES, end_page_of
from experiments.study.checks.lint import ASKS, advice
from experiments.study.sections.recruitment import EndPage
from tests.fakes.driven import small


def test_each_outcome_has_a_page_a_payment_and_a_code() -> None:
    assert set(COMMON) == set(ASKS) == set(OUTCOMES)
    assert "approve" not in "".join(TO_DO.values()), "which only Prolific lets one do"
    assert set(OUTCOMES) - {"withdrawn"} <= set(TO_DO)


def test_what_is_over_for_a_part_is_not_over_for_the_study() -> None:
    for outcome in ("complete", "timed_out"):
        part, study = (end_page_of(small(), outcome, EndPage(), part=part).text for part in (True, False))
        assert part != study


def test_a_rule_that_ends_sessions_needs_a_code_of_its_own() -> None:
    chat = {"each": "turn", "take": 1, "flow": [{"step": "compare"}]}
    rule = {"name": "asks", "must": "question", "then": "end"}
    found = small(chat, models=["one", "two"], recruitment={"channels": ["prolific"]}, fidelity=[rule])
    assert any(text.startswith("outcomes.off_protocol") for text in advice(found, None))
    assert any(text.startswith("fidelity[0]") for text in advice(found, None))
