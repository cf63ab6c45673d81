"""Orders of options that cannot be, and those that bias what is measured."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.study.checks.option_order_check import order_advice
from experiments.study.study import Study
from problems.problem import Option, Problem
from tests.fakes.driven import Driven, places, small

TEXTS = ("one", "two", "three", "four")


def problem(number: int, right: int = 0, texts: tuple[str, ...] = TEXTS) -> Problem:
    options = tuple(Option(str(key), text, text) for key, text in enumerate(texts))
    return Problem(f"p{number}", "What?", "What?", "d", options, str(right) if options else None)


FIRST = [problem(number) for number in range(4)]
MIXED = [problem(number, number) for number in range(4)]
OPEN = [problem(number, texts=()) for number in range(4)]
ASK = {"step": "answer"}
SHUFFLED = {"options": "shuffled"}
PLAIN = {"type": "number", "name": "age", "text": "Age?"}


def study(problems: list[Problem], *flow: Any, pool: Any = None, **keys: Any) -> Study:
    return small({"each": "q", "of": "pool", "flow": flow or [ASK]}, problems=problems, pool=pool, **keys)


@pytest.mark.parametrize(
    ("found", "advised"),
    [
        (lambda: study(FIRST), ["problems.pool"]),
        (lambda: study(FIRST[:3]), []),
        (lambda: study(MIXED), []),
        (lambda: study(FIRST, pool=SHUFFLED), []),
        (lambda: study(FIRST, {**ASK, **SHUFFLED}), []),
        (lambda: study(FIRST, {"step": "info", "text": "Read."}), []),
    ],
)
def test_an_unshuffled_pool_with_one_place_is_advised_against(found: Any, advised: list[str]) -> None:
    assert [words.partition(":")[0] for words in order_advice(found())] == advised


@pytest.mark.parametrize(
    "text",
    [
        *("All of the above", "None of the above.", "Both A and C", "A, B and D", "(b) or (c)"),
        *("Alle oben genannten", "Keine der obigen Antworten", "A und C", "جميع ما سبق", "لا شيء مما سبق"),
    ],
)
@pytest.mark.parametrize("pool", [SHUFFLED, {}])
def test_an_option_that_names_others_by_their_places_is_advised_against_where_they_move(text: str, pool: Any) -> None:
    problems = [*MIXED, problem(9, 2, (*TEXTS[:3], text))]
    assert len([*order_advice(study(problems, pool=pool))]) == bool(pool)
    assert not [*order_advice(study([*MIXED, problem(9, 2, (*TEXTS[:3], "above sea level"))], pool=SHUFFLED))]


@pytest.mark.parametrize(
    ("flow", "pool", "where"),
    [
        ([{"step": "info", "text": "Read."}], SHUFFLED, "problems.pool.options"),
        ([{"step": "chat", "model": "m", **SHUFFLED}], {}, "flow[0].flow[0]"),
        ([{"step": "survey", "questions": [PLAIN], **SHUFFLED}], {}, "flow[0].flow[0]"),
        ([{"step": "survey", "questions": [PLAIN], "order": "shuffled"}], {}, "flow[0].flow[0]"),
        (
            [{"step": "check", "kind": "attention", "questions": [PLAIN], "correct_answers": {"age": 3}, **SHUFFLED}],
            {},
            "flow[0].flow[0]",
        ),
    ],
)
def test_an_order_without_anything_to_order_is_an_error(flow: Any, pool: Any, where: str) -> None:
    assert {*places(study, OPEN, *flow, pool=pool, models=["m"])} == {where}


LISTED = ["One", "Two", "Other", "None of these"]


def test_options_that_stay_last_are_not_drawn_and_are_recorded_with_the_others() -> None:
    firsts = set()
    for seed in range(12):
        asked = {"type": "multiple_choice", "name": "which", "options": LISTED, "last": ["Other", "None of these"]}
        session = Driven(small({"step": "survey", "id": "ask", **SHUFFLED, "questions": [asked]}), seed=str(seed))
        order = session.last_of("ordered").data["choices"]["which"]
        (field,) = session.screen.panel.fields
        assert list(field.model_dump()["options"]) == order
        assert (set(order[:2]), order[2:]) == ({"One", "Two"}, ["Other", "None of these"])
        firsts.add(order[0])
    assert firsts == {"One", "Two"}


@pytest.mark.parametrize(
    ("step", "where"),
    [
        ({"step": "compare", "models": ["a", "b"], **SHUFFLED}, "flow[0].options"),
        (
            {
                "step": "survey",
                "questions": [{"type": "single_choice", "name": "x", "options": ["a", "b"], "last": ["c"]}],
            },
            "flow[0].questions[0]",
        ),
    ],
)
def test_an_order_without_effect_and_a_last_option_that_there_is_not_are_errors(step: Any, where: str) -> None:
    assert places(small, step, models=["a", "b"]) == [where]
