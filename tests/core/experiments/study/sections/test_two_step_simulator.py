"""The two-step prompts, and what is read of replies."""

from __future__ import annotations

import pytest

from experiments.study.sections import two_step_simulator
from experiments.study.sections.two_step_simulator import SimulatorQuestion

SUM = SimulatorQuestion("What is 1 + 1?", {"A": "3", "B": "2", "C": "B", "D": "A lot"})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("  hello ", "hello"),
        ('"YOU: hello"', "hello"),
        ('YOU: "hello"', "hello"),
        ("“hello”", "hello"),
        ('"a" and "b"', '"a" and "b"'),
        ("what is 'x'", "what is 'x'"),
        ("SYSTEM: no", "SYSTEM: no"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_quotes_around_a_reply_and_the_speakers_name_are_dropped(reply: str, said: str) -> None:
    assert two_step_simulator.cleaned(reply) == said


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("A", "A"), ("a", "A"), ("D.", "D"), ("(D)", "D"), ("D) A lot", "D"), ("**D**", "D"), ("2", "B"),
        ("a lot", "D"), ("A or D", None), ("A lot more", None), ("E", None), ("", None), ("none of them", None),
    ],
)  # fmt: skip
def test_an_answer_is_matched_to_one_option_or_to_none(answer: str, key: str | None) -> None:
    assert SUM.key(answer) == key
