"""The scripted tutor: it always has something to say, and is wrong as often as a study asks for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends import tutor
from app.backends.base import PromptMessage
from app.backends.tutor.turn import quote

WORDS = st.one_of(
    st.text(max_size=80),
    st.from_regex(r"[-+*/^() \dx.$]{0,40}", fullmatch=True),
    st.from_regex(r"(What|A\.|B\)|show|prove|\\\(|\$\$|\\\[|`|\*\*|\n| |[a-z]{1,6}|\d){0,25}", fullmatch=True),
    st.sampled_from(["", "hi", "are you sure?", "why?", "A. 1 B. 2", "What is 1/0?", "2x = 3", "0x=1", "thanks"]),
)
CONVERSATIONS = st.lists(
    st.builds(PromptMessage, st.sampled_from(["system", "user", "assistant"]), WORDS), max_size=6
).map(tuple)


def is_balanced(text):
    open_now = ""
    for mark in re.findall(r"\\[()\[\]]", text):
        if mark not in {"": (r"\(", r"\["), r"\(": (r"\)",), r"\[": (r"\]",)}[open_now]:
            return False
        open_now = "" if open_now else mark
    return not open_now


@given(CONVERSATIONS, st.text(max_size=5), st.floats(0, 1))
def test_it_always_has_something_to_say_and_says_it_well_formed(messages, seed, wrong):
    reply = tutor.reply(messages, seed=seed, wrong=wrong)
    assert reply.strip()
    assert reply == tutor.reply(messages, seed=seed, wrong=wrong)
    assert is_balanced(reply)
    assert reply.count("**") % 2 == 0
    assert reply.count("{") == reply.count("}")


@given(WORDS)
def test_what_is_quoted_is_plain(text):
    assert not re.search(r"[\\$*_`<>\[\]{}|#~&]", quote(text))


def talk(*asked, seed="s", wrong=0.0):
    messages = ()
    for text in asked:
        messages = (*messages, PromptMessage("user", text))
        messages = (*messages, PromptMessage("assistant", tutor.reply(messages, seed=seed, wrong=wrong)))
    return [message.text for message in messages if message.role == "assistant"]


SUMS = {
    "What is 4x3+5?": "17",
    "What is 7+(8-3)x2?": "17",
    "1/2 + 1/3": r"\frac{5}{6}",
    "15% of 80": "12",
    "what's $2^{3} \\cdot 2$": "16",
    "-3 - (2 - 5)^2": "-12",
    "1,000 divided by 8": "125",
    "\\frac{3}{4} - 0.5": r"\frac{1}{4}",
    "solve 2x + 3 = 11": "x = 4",
    "solve x - 3 = 11": "x = 14",
    "Tom has 12 apples and gave 5 away. How many are left?": "7",
}


@pytest.mark.parametrize("asked", SUMS)
def test_one_that_is_never_wrong_gets_sums_right(asked):
    (reply,) = talk(asked)
    assert f"**\\({SUMS[asked]}\\)**" in reply


def test_it_is_wrong_about_as_often_as_asked():
    replies = [talk("What is 4x3+5?", seed=str(seed), wrong=0.25)[0] for seed in range(400)]
    assert 70 < sum("**\\(17\\)**" not in reply for reply in replies) < 130


def test_one_that_is_never_wrong_stands_by_its_answer():
    for reply in talk("What is 4x3+5?", "are you sure?", "I get 19", "really?"):
        assert "**\\(17\\)**" in reply


def test_one_that_was_wrong_sees_it_when_told_the_answer():
    assert "**\\(17\\)**" in talk("What is 4x3+5?", "isn't it 17?", wrong=1)[1]


def test_a_choice_is_made_from_the_list_and_computed_where_it_can_be():
    assert "**A. 17**" in talk("What is 4x3+5? A. 17 B. 20 C. 15 D. 19")[0]
    chosen = {re.findall(r"\*\*([ABC])\. ", talk("(A) blue\n(B) green\n(C) red", seed=str(i))[0])[0] for i in range(20)}
    assert chosen == {"A", "B", "C"}


def test_one_letter_is_given_where_only_a_letter_is_asked_for():
    prompt = "Answer with a single letter.\nWhat is 4x3+5?\nA. 15\nB. 17\nC. 19\nD. 20\nAnswer:"
    assert talk(prompt) == ["B"]


HOSTILE = ("(" * 50_000, "9^" * 20_000 + "9", "A. " * 20_000, "$" * 50_000, "1/" * 30_000, "\\frac{" * 9_000)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:6])
def test_a_hostile_message_is_answered_in_time_that_does_not_explode(text):
    assert talk(text)
