"""Forms put to a model: what it answers is taken if a person could have sent it, and not otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from app.backends.base import Request
from app.backends.scripted_user import reply
from app.bots.users import form_filling
from app.bots.users.base import UnusableReply
from experiments.study.fields import AnyField, Field

ADAPTER: TypeAdapter[Field] = TypeAdapter(AnyField)
ASKED = [
    {"type": "single_choice", "name": "drink", "text": "Which?", "options": {"t": "Tea", "c": "Coffee"}},
    {"type": "multiple_choice", "name": "used", "options": ["Pen", "Paper"], "required": False},
    {"type": "scale", "name": "agree", "options": {"1": "No", "2": "Yes"}},
    {"type": "scale", "name": "help", "scale": "helpfulness"},
    {"type": "number", "name": "age", "minimum": 18, "maximum": 99},
    {"type": "number", "name": "weight", "integer": False, "minimum": 0.5, "required": False},
    {"type": "slider", "name": "trust", "minimum": 10, "maximum": 50, "step": 20, "right": "Fully"},
    {"type": "short_text", "name": "word", "max_chars": 60},
    {"type": "long_text", "name": "why", "required": False},
    {"type": "checkbox", "name": "read"},
]
FIELDS = [ADAPTER.validate_python(one) for one in ASKED]
GOOD = '{"drink": "t", "agree": "2", "help": 3, "age": 30, "trust": 30, "word": "so", "read": true, "why": null}'


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"t"', '"Tea"', "drink: Please choose one of the options shown."),
        ("30,", "17,", "age: Please enter a number from 18 to 99."),
        ('"trust": 30', '"trust": 40', "trust: Please choose a position on the scale."),
        ('"so"', '""', "word: Please answer this question."),
        ('"so"', f'"{"x" * 61}"', "word: Please use at most 60 characters. You have entered 61."),
        ("{", "Here it is: {", "Return one JSON object"),
    ],
)
def test_what_a_field_does_not_accept_is_not_taken_at_all(old: str, new: str, why: str) -> None:
    with pytest.raises(UnusableReply, match=why):
        form_filling.read_answers(FIELDS, GOOD.replace(old, new, 1))


@given(st.text(max_size=8), st.lists(st.sampled_from(FIELDS), min_size=1, unique_by=lambda field: field.name))
def test_what_fulfils_the_schema_is_taken(seed: str, fields: list[Field]) -> None:
    schema = form_filling.schema(fields)
    assert form_filling.read_answers(fields, reply(Request("ann", (), seed=seed, schema=schema))) is not None
    assert schema["required"] == [field.name for field in fields]
