"""What a text may hold, and what becomes of everything else."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.text import NotText, checked, checked_values, clean, clean_values

ANY = st.text(st.characters() | st.sampled_from("\r\n\t\0\x0b\x0c\x1b\x85\ud83d\ude00\ufeff\uffff"))


def unfit(character: str) -> bool:
    return character not in "\t\n" and (
        unicodedata.category(character) in ("Cc", "Cs") or character in "\ufeff\ufffe\uffff"
    )


@given(ANY)
def test_a_cleaned_text_can_be_stored_and_is_as_it_was_but_for_what_is_no_text(text: str) -> None:
    made = clean(text)
    made.encode()
    assert not any(map(unfit, made))
    assert clean(made) == made
    if not any(map(unfit, text.replace("\r", ""))):
        assert made == text.replace("\r\n", "\n").replace("\r", "\n") == checked(text)


@given(ANY)
def test_a_refusal_names_the_first_character_and_its_place(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    wrong = [(n, m, c) for n, line in enumerate(lines, 1) for m, c in enumerate(line, 1) if unfit(c)]
    if not wrong:
        assert checked(text) == "\n".join(lines)
        return
    with pytest.raises(NotText) as refused:
        checked(text, "x.csv")
    line, column, character = wrong[0]
    assert (refused.value.line, refused.value.column) == (line, column)
    assert str(refused.value).startswith(f"x.csv: line {line}, column {column}: ")
    assert f"U+{ord(character):04X}" in str(refused.value) or "UTF-16" in str(refused.value)


VALUES = st.recursive(
    ANY | st.none() | st.booleans() | st.integers(), lambda v: st.lists(v) | st.dictionaries(ANY, v), max_leaves=9
)


@given(VALUES)
def test_every_text_of_a_value_is_cleaned_or_refused(value: object) -> None:
    cleaned = clean_values(value)
    assert clean_values(cleaned) == cleaned == checked_values(cleaned)
    json.dumps(cleaned, ensure_ascii=False).encode()
