"""The two-step prompts, what is read of replies, and the examples that are made of conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.instruments import two_step_simulator
from experiments.instruments.two_step_simulator import SimulatorQuestion

SUM = SimulatorQuestion("What is 1 + 1?", {"A": "3", "B": "2", "C": "B", "D": "A lot"})
SAID = [("You", "is it 2?"), ("Bot", "Yes."), ("You", "sure?"), ("Bot", "Quite.")]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60)


def tasks(prompt: two_step_simulator.Prompt) -> str:
    return prompt[1]["text"]


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


def test_what_an_option_says_goes_before_a_key() -> None:
    assert SUM.key("B") == "C", "option C says B"


@given(st.lists(st.tuples(st.sampled_from(["You", "Bot"]), texts), max_size=12))
def test_k_messages_give_k_and_one_examples(said: list[tuple[str, str]]) -> None:
    found = two_step_simulator.examples(SUM, said, "B")
    own = [text for who, text in said if who == "You"]
    assert len(found) == (len(own) + 1 if own else 0)
    assert [example[-1]["text"] for example in found] == ([*own, "Answer: B"] if own else [])
    assert all([one["role"] for one in example] == ["system", "user", "assistant"] for example in found)
    assert [tasks(example) == tasks(two_step_simulator.first(SUM)) for example in found] == [
        n == 0 for n in range(len(found))
    ]


def test_examples_ask_what_the_user_asks() -> None:
    """So that a model that is fine-tuned on them meets the same prompts when it plays."""
    first, second, last = two_step_simulator.examples(SUM, SAID, "B")
    assert first[:-1] == two_step_simulator.first(SUM)
    assert second[:-1] == two_step_simulator.following(SUM, SAID[:2])
    assert last[:-1] == two_step_simulator.following(SUM, SAID)
