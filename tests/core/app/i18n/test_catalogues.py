"""Texts that remember how they were said, and the languages that they can be said in."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.i18n.catalogues import catalogue, catalogues, negotiate
from experiments.study.fields import Checkbox, MultipleChoiceField, Number, ShortText, Slider, read_form
from experiments.study.texts import lazy, translated

PLAIN = st.text(alphabet=string.ascii_letters + " äß؟", max_size=12)


@given(name=PLAIN, number=st.integers())
def test_what_is_said_is_an_ordinary_text(name: str, number: int) -> None:
    said = lazy("{name} has {number:,}", name=name, number=number)
    assert said == f"{name} has {number:,}"
    assert {said: 1}[str(said)] == 1


@given(text=st.text())
def test_what_a_catalogue_does_not_have_stays_as_it_is(text: str) -> None:
    assert translated(text, {}) == text
    assert translated(lazy("{text}", text=text), {}) == text


@pytest.mark.parametrize("tag", sorted(catalogues()))
def test_every_refusal_of_a_form_is_said_in_every_language(tag: str) -> None:
    say_it = catalogue(tag)
    fields = (
        Number(name="years", minimum=18, maximum=99),
        Number(name="more", minimum=3),
        Number(name="less", maximum=7),
        Number(name="half", integer=False),
        ShortText(name="line", max_chars=3),
        Slider(name="place"),
        MultipleChoiceField(name="some", options={"a": "A"}),
        Checkbox(name="agreed"),
        ShortText(name="missing"),
    )
    given_ = {"years": "7", "more": "1", "less": "8", "half": "x", "line": "long", "place": "no", "some": ["b"]}
    _, faults = read_form(fields, {**given_, "agreed": "no"})
    assert len(faults) == len(fields)
    told = {name: say_it(fault) for name, fault in faults.items()}
    assert all((told[name] == fault) == (tag == "en") for name, fault in faults.items())
    assert "18" in told["years"]
    assert "99" in told["years"]


@pytest.mark.parametrize(
    ("accepts", "chosen"),
    [("de", "de"), ("fr, ar;q=0.3, en;q=0.9", "en"), ("fr", None), ("", None), ("*", None)],
)
def test_the_browsers_wish_is_heard(accepts: str, chosen: str | None) -> None:
    assert negotiate(accepts, ("en", "de", "ar")) == chosen
