"""Accuracy by the conditions of any study, against ChatBench's by its own condition."""

from __future__ import annotations

import pandas as pd
import pytest

from app.extensions.analysis.data_frames import ALONE, SESSION, WITH_AI
from app.extensions.analysis.public import accuracy, accuracy_by_arm
from app.extensions.analysis.results import figure_names, patterns
from tests.core.app.extensions.analysis.test_chatbench import MATHS, answers

ROWS = [
    (f"{role}{n}", role, kind, f"q{n % 3 + more}", float((n + more + (role == "tutor")) % 3 > 0))
    for role in ("tutor", "teller") for n in range(8) for more in range(2) for kind in (ALONE, WITH_AI)
]  # fmt: skip


def test_the_accuracy_of_an_arm_is_that_of_a_condition_with_its_clustered_interval() -> None:
    rows = [
        (MATHS, question, kind, right, {"role": role, "alike": "x"}, who) for who, role, kind, question, right in ROWS
    ]
    checks = [("attention_check", "check", ALONE, 0.0, {"role": "tutor", "alike": "x"}, "tutor1")]
    frame = pd.DataFrame([*rows, *checks], columns=["dataset", "question", "kind", "correct", "arms", SESSION])
    (finding,) = accuracy_by_arm(frame)
    found = {one.name: (one.value, one.low, one.high, one.n, one.participants) for one in finding.estimates}
    types = {ALONE: "user-alone", WITH_AI: "user-AI"}
    theirs = answers(*((who, None, role, types[kind], MATHS, q, int(right)) for who, role, kind, q, right in ROWS))
    by_condition, *_ = accuracy(theirs)
    own = {(one.groups["condition"], one.name.rpartition(".")[2]): one for one in by_condition.estimates}
    moments = {"alone": "before", "with_AI": "with_AI"}
    for role in ("tutor", "teller"):
        for kind, moment in moments.items():
            one = own[role, moment]
            same = (one.value, one.low, one.high, one.n, one.participants)
            assert found.pop(f"accuracy.role.{role}.{kind}") == pytest.approx(same, abs=1e-9)
    assert found == {}
    assert all(len(patterns(one.name, figure_names())) == 1 for one in finding.estimates)
    assert not any(accuracy_by_arm(frame.assign(arms=[{"role": "tutor"}] * len(frame)))), "nothing to compare"
