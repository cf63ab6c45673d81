"""What counts as telling which model wrote a reply, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.session.identity_leaks import MASK, leaks, masked

TELLING = {
    "I am ChatGPT, a large language model trained by OpenAI.": ("ChatGPT", "OpenAI"),
    "I'm Claude, made by Anthropic.": ("Claude", "Anthropic"),
    "As an AI language model developed by Google, I can't.": ("Google",),
    "As of my last update in 2023, this was open.": ("As of my last update",),
    "My knowledge cutoff is April 2023.": ("My knowledge cutoff",),
    "I was trained on data up to 2021.": ("I was trained on data up to",),
    "Ask gpt-3.5-turbo, GPT-4o or Llama-3.1-8b-instruct.": ("gpt-3.5-turbo", "GPT-4o", "Llama-3.1-8b-instruct."),
}


@pytest.mark.parametrize("text", TELLING)
def test_telling_words_are_found_in_order(text: str) -> None:
    assert leaks(text) == TELLING[text]
    assert leaks(masked(text)) == ()
    assert masked(text).count(MASK) == len(TELLING[text])


@given(st.text(), st.lists(st.text(max_size=5), max_size=3))
def test_any_text_can_be_searched_and_what_is_masked_is_what_was_found(text: str, own: list[str]) -> None:
    found = leaks(text, own)
    assert all(word in text for word in found)
    assert masked(text, own).count(MASK) == text.count(MASK) + len(found) or found
