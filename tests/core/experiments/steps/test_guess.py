"""The guess at the model: what the browser is told, what is recorded, what is refused, and who was right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.web.participant.view import StudyContext, render_page
from experiments.errors import StudyError
from experiments.session.guesses import verdict
from experiments.study.study import Study
from tests.fakes.driven import Driven, small

MODELS = ("canary-one", "canary-two", "canary-three")
OPTIONS = {"key-first": "The first", "key-second": "The second", "key-third": "The third"}
TRUTH = dict(zip(MODELS, OPTIONS, strict=True))


def asking(**keys: Any) -> Study:
    guess = {"step": "guess", "options": OPTIONS, "truth": TRUTH, "ask_confidence": True, **keys}
    return small({"step": "compare"}, guess, models=MODELS)


def arrived(study: Study) -> Driven:
    session = Driven(study).do("say", text="Hello")
    for slot in session.slots:
        session.hear(slot)
    return session.do("vote", winner="a").do()


def test_the_browser_is_told_letters_and_the_log_has_the_authors_keys() -> None:
    session = arrived(asking())
    seen = session.screen
    guess, sure = seen.panel.fields
    assert list(guess.options) == ["a", "b", "c", "d"]
    assert guess.options["d"] == "I do not know"
    told = repr(seen) + json.dumps(render_page(seen, study=StudyContext("Small"), shown=None, draft={}))
    assert not any(word in told for word in (*MODELS, *OPTIONS, "unsure"))
    assert list(sure.options) == ["1", "2", "3", "4", "5"]
    letter = next(letter for letter, label in guess.options.items() if label == "The second")
    fact = session.do(guess=letter, sure="4").state.facts["guess"][-1]
    words = {**OPTIONS, "unsure": "I do not know"}
    order = [next(key for key, label in words.items() if label == shown) for shown in guess.options.values()]
    assert dict(fact.data) == {"guess": "key-second", "sure": 4}
    assert session.state.facts["guess"][0].data == {"choices": {"guess": order}}


@pytest.mark.parametrize(
    "keys",
    [
        {"truth": {**TRUTH, "canary-for": "key-first"}},
        {"truth": {"canary-one": "key-first", "canary-two": "key-first"}},
        {"truth": {**TRUTH, "canary-one": "key-frist"}},
        *({"options": {**OPTIONS, "unsure": "Who knows"}}, {"options": {"key-first": "The first"}}),
        {"options": {**OPTIONS, "key-third": "canary-three"}},
        *({"text": "Was it {{model}}?"}, {"confidence_text": "Sure of {{modl}}?"}),
    ],
)
def test_a_guess_that_cannot_be_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        asking(**keys)


def test_the_guess_is_right_if_it_is_true_of_any_model_that_replied() -> None:
    both = frozenset(MODELS[:2])
    assert verdict("key-first", TRUTH, both) == verdict("key-second", TRUTH, both) == "right"
    assert verdict("key-third", TRUTH, both) == "wrong"
    assert verdict("unsure", TRUTH, both) == "unsure"
    assert verdict("key-first", TRUTH, ()) is None, "nobody replied"
