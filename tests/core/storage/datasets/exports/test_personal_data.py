"""Personal data in free text: what is found, what is not, and what a mask leaves as it was."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.columns import Column, JsonColumn, PythonLiteral, TextColumn, all_texts, literal
from storage.datasets.exports.personal_data import MARKS, Mask, mask, masked_cell

FOUND = {
    "email": ["anna.m@example.org", "a+b@mail.example.co.uk", "MÜLLER@EXAMPLE.DE"],
    "profile": [
        "https://www.linkedin.com/in/anna-m-123",
        "instagram.com/anna.m",
        "https://twitter.com/anna_m",
        "https://mastodon.social/@anna",
        "https://example.org/~anna",
        "t.me/anna_m",
    ],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR14 2004 1010 0505 0001 3M02 606"],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"],
    "ip_address": ["192.168.10.24", "8.8.8.8", "2001:db8:85a3::8a2e:370:7334"],
    "recruiter_id": ["5f3a0c6e9d1b2a7c4e8f0d12", "5F3A0C6E9D1B2A7C4E8F0D12"],
    "date_of_birth": [],
    "phone": [
        "+49 30 1234567",
        "+1 (212) 555-0199",
        "0044 20 7946 0958",
        "(212) 555-0199",
        "555-123-4567",
        "0171 2345678",
        "06 12 34 56 78",
        "030/1234567",
    ],
}
BORN = {
    "I was born on 12 May 1990 in": "I was born on {} in",
    "date of birth: 1990-05-12.": "date of birth: {}.",
    "DOB 05/12/1990, ok": "DOB {}, ok",
    "geboren am 12.05.1990": "geboren am {}",
    "my birthday is March 3rd, 1985": "my birthday is {}",
}
NOT_FOUND = [
    "GB29NWBK60161331926818",  # a wrong checksum
    "4111 1111 1111 1112",
    "The battle was on 14 October 1066, and the treaty on 1990-05-12.",
    "3.14159265358979 and 0.00123456789 and 1,234,567,890",
    "12 + 345 - 6789 = -6432; 100 200 300 400",
    "f(123) = 456 789; x1234567890; 2^{64} = 18446744073709551616",
    "the digits 0123456789, at 12:30:45 on 05-12-2020 10:30",
    "std::vector a::b, localhost 127.0.0.1, version 1.2.3",
    "@property def f(x): return x @ y",
    "https://example.org/papers/2024/results.html",
    "d41d8cd98f00b204e9800998ecf8427e",  # 32 digits
    *MARKS.values(),
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
@pytest.mark.parametrize("around", ["{}", "Call me: {}, please.", "({})\n", "it is {} and 7 more", "é {}!"])
def test_what_has_the_form_of_personal_data_is_masked(kind: str, text: str, around: str) -> None:
    masked, found = mask(around.format(text))
    assert (masked, found) == (around.format(MARKS[kind]), {kind: 1})


@pytest.mark.parametrize("text", NOT_FOUND)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert mask(text) == (text, {})


PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from([text for texts in FOUND.values() for text in texts] + [*BORN, *NOT_FOUND]),
    st.text(alphabet="0123456789 +-./()@:,abAB", max_size=25),
)
TEXTS = st.lists(PIECES, max_size=6).map(" ".join) | st.lists(PIECES, max_size=4).map("".join)


COLUMNS = (
    Column("id", TextColumn(), "", ""),
    Column("text", TextColumn(), "", "", free_text=True),
    Column("talk", JsonColumn(lambda value: isinstance(value, list), ""), "", "", free_text=True),
    Column("said", PythonLiteral(all_texts, ""), "", "", free_text=True),
    Column("other", JsonColumn(lambda value: True, ""), "", ""),
)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS, max_size=3)), max_size=4))
def test_only_free_text_is_touched_and_keeps_its_type(made: list[tuple[str, str, list[str]]]) -> None:
    rows = [
        (id_, text, json.dumps([{"role": "You", "content": one} for one in talk]), repr(talk), json.dumps(talk))
        for id_, text, talk in made
    ]
    masked = Mask(COLUMNS)
    after = [tuple(row) for batch in masked.rows(iter([rows])) for row in batch]
    found = sum((mask(one)[1] for _, text, talk in made for one in (text, *talk, *talk)), Counter())
    assert Counter(kind for _, kind in masked.found.elements()) == found
    for (id_, text, talk), row in zip(made, after, strict=True):
        assert (row[0], row[4]) == (id_, json.dumps(talk))
        assert row[1] == mask(text)[0]
        assert [one["content"] for one in json.loads(row[2])] == [mask(one)[0] for one in talk]
        assert literal(row[3]) == [mask(one)[0] for one in talk]
        assert all(masked_cell(row[n], COLUMNS[n]) == (row[n], {}) for n in (1, 2, 3))


@pytest.mark.parametrize("text", BORN)
def test_a_date_is_masked_where_it_is_said_to_be_of_a_birth(text: str) -> None:
    assert mask(text) == (BORN[text].format(MARKS["date_of_birth"]), {"date_of_birth": 1})
