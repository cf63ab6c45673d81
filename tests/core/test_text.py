"""What a text may hold, and what becomes of everything else."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.text import Cleaner, NotText, checked, checked_values, clean, clean_json, clean_values, decoded

ANY = st.text(st.characters() | st.sampled_from("\r\n\t\0\x0b\x0c\x1b\x85\ud83d\ude00\ufeff\uffff"))


def unfit(character: str) -> bool:
    """Whether a character has no place in a text, by Unicode's categories."""
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


def test_what_is_cleaned() -> None:
    assert clean("a\r\nb\rc\nd\x0be\x0cf") == "a\nb\nc\nd\ne\nf"
    assert clean("\ufeffa\0\x1b[1m\x7f\x85\tb\ufffe") == "a[1m\tb"
    assert clean("\ud83d\ude00 \ud83d x \ude00\ud83d") == "\U0001f600 \ufffd x \ufffd\ufffd"


@given(st.lists(ANY))
def test_pieces_are_cleaned_as_the_whole(pieces: list[str]) -> None:
    cleaner = Cleaner()
    assert "".join([*map(cleaner.feed, pieces), cleaner.end()]) == clean("".join(pieces))


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


@given(st.binary() | ANY.map(lambda text: text.encode("utf-16", "surrogatepass")))
def test_any_bytes_are_a_text_or_refused(content: bytes) -> None:
    with suppress(NotText):
        assert not any(map(unfit, checked(decoded(content, "x"), "x")))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff")))
def test_each_encoding_with_its_mark_is_read(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        assert decoded(text.encode(encoding), "x") == text


@pytest.mark.parametrize(
    ("content", "place", "said"),
    [
        ("a\nEin Café".encode("cp1252"), (2, 8), "'é'"),
        ("a\rb\r\nc – d".encode("cp1252"), (3, 3), "'–'"),
        (b"a\x81", (1, 2), "0x81"),
        ("a,b\nc,d\n".encode("utf-16-le"), (1, 2), "UTF-16"),
        ("a,b\nc,d\n".encode("utf-16-be"), (1, 1), "UTF-16"),
        (b"\xff\xfea\0\x00\xd8b\0", (1, 2), "UTF-16"),
        (b"\xff\xfea", (1, 1), "UTF-16"),
        (b"a\n\xef\xbb\xbfb", (2, 1), "U+FEFF"),
        (b"a\nb\0", (2, 2), "NUL"),
        (b"\xed\xa0\xbd", (1, 1), "UTF-8"),
    ],
)
def test_other_bytes_are_told_with_their_place(content: bytes, place: tuple[int, int], said: str) -> None:
    with pytest.raises(NotText) as refused:
        checked(decoded(content, "x"), "x")
    assert (refused.value.line, refused.value.column) == place
    assert said in refused.value.problem


VALUES = st.recursive(
    ANY | st.none() | st.booleans() | st.integers(), lambda v: st.lists(v) | st.dictionaries(ANY, v), max_leaves=9
)


@given(VALUES)
def test_every_text_of_a_value_is_cleaned_or_refused(value: object) -> None:
    cleaned = clean_values(value)
    assert clean_values(cleaned) == cleaned == checked_values(cleaned)
    json.dumps(cleaned, ensure_ascii=False).encode()


@given(VALUES)
def test_json_with_halves_of_pairs_can_be_read(value: object) -> None:
    written = json.dumps(value).encode()
    assert clean_values(json.loads(clean_json(written))) == clean_values(json.loads(written))
