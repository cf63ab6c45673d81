"""What people type: any text is a clean value or a fault in words, in the core and at the page's border."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.web.console.event_validation import PageEvent
from app.web.participant.api import PerformAction, SaveDraft
from experiments.study.fields import LongText, Number, Scale, ShortText, SingleChoice, Slider, read_form
from problems.text import UNFIT, clean, clean_json, texts_in

HARD = st.characters() | st.sampled_from("\r\n\t\0\x0b\x1b\x85\ud83d\ude00\ufeff")
TEXTS = st.text(HARD, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    ShortText(name="short"),
    LongText(name="long"),
    Number(name="number"),
    Slider(name="slider"),
    SingleChoice(name="single", options=["yes", "no"]),
    Scale(name="scale", options=["1", "2"]),
)


def unclean(value: Any) -> list[str]:
    return [text for text in texts_in(value) if UNFIT.search(text) or "\r" in text]


@given(st.fixed_dictionaries({field.name: VALUES for field in FIELDS}))
def test_a_form_reads_any_values_as_clean_ones_or_faults(values: dict[str, Any]) -> None:
    found, faults = read_form(FIELDS, values)
    assert {*found} | {*faults} == {field.name for field in FIELDS}
    assert unclean(found) == []
    for name in ("short", "long"):
        if isinstance(values[name], str) and clean(values[name]).strip():
            assert found[name] == clean(values[name]).strip()


@given(st.dictionaries(TEXTS, VALUES, max_size=3))
def test_values_of_a_request_are_cleaned(values: dict[str, Any]) -> None:
    body = stringified({"kind": "submit", "path": "p", "seen": 1, "key": "12345678", "values": values})
    assert unclean(PerformAction.model_validate_json(clean_json(body)).values) == []
    assert unclean(SaveDraft.model_validate_json(clean_json(body)).values) == []
    event = stringified({"fn_index": 1, "data": [values]})
    assert unclean(PageEvent.model_validate_json(clean_json(event)).data) == []


def stringified(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(st.binary(max_size=80) | st.builds(lambda text: text.encode("utf-8", "surrogatepass"), TEXTS))
def test_any_body_is_a_request_or_refused(body: bytes) -> None:
    for model in (PerformAction, PageEvent):
        with suppress(ValidationError):
            model.model_validate_json(clean_json(body))
