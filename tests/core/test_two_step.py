"""The two-step prompts, what is read of replies, and the examples that are made of conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.study.sections import two_step_simulator
from experiments.study.sections.two_step_simulator import SimulatorPrompts, SimulatorQuestion

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


@given(st.lists(st.tuples(texts, texts), max_size=6))
def test_k_messages_with_replies_give_k_and_one_examples(turns: list[tuple[str, str]]) -> None:
    said = [one for own, reply in turns for one in (("You", own), ("Bot", reply))]
    found = two_step_simulator.examples(SUM, said, "B")
    own = [text for text, _ in turns]
    assert [example[-1]["text"] for example in found] == ([*own, "Answer: B"] if own else [])
    assert all([one["role"] for one in example] == ["system", "user", "assistant"] for example in found)
    assert [tasks(example) == tasks(two_step_simulator.first(SUM)) for example in found] == [
        n == 0 for n in range(len(found))
    ]


@given(st.lists(st.tuples(st.sampled_from(["You", "Bot"]), texts), max_size=12))
def test_an_example_follows_a_reply_and_what_was_not_replied_to_gives_none(said: list[tuple[str, str]]) -> None:
    found = two_step_simulator.examples(SUM, said, "B")
    begin = next((n for n, (who, _) in enumerate(said) if who == "You"), len(said))
    after = [
        n for n in range(begin, len(said)) if said[n][0] == "Bot" and (n + 1 == len(said) or said[n + 1][0] == "You")
    ]
    assert len(found) == (len(after) + 1 if begin < len(said) else 0)


def test_a_study_has_prompts_of_its_own() -> None:
    prompts = SimulatorPrompts(system="Be {{question}}", next="{{conversation}} / {{choices}}", first="Begin.")
    first, second, *_ = two_step_simulator.examples(SUM, SAID, "B", prompts)
    assert [one["text"] for one in first] == [f"Be {SUM.whole}", "Begin.", "is it 2?"]
    assert tasks(second) == "YOU: is it 2?\n\nSYSTEM: Yes. / A, B, C, or D"


def test_examples_ask_what_the_user_asks() -> None:
    """So that a model that is fine-tuned on them meets the same prompts when it plays."""
    first, second, last = two_step_simulator.examples(SUM, SAID, "B")
    assert first[:-1] == two_step_simulator.first(SUM)
    assert second[:-1] == two_step_simulator.following(SUM, SAID[:2])
    assert last[:-1] == two_step_simulator.following(SUM, SAID)
