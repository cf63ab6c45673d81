"""Options in random order: everybody at a step knows them by the same letters, and the log has the keys."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from app.web.participant.api import screen_json
from experiments.errors import Refused
from experiments.events import Action
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.session.state import visited
from experiments.study.study import Study
from experiments.views.answers import answered, given_by
from problems.pictures import PictureMap
from problems.problem import Option, Problem
from tests.fakes.driven import Driven, small

KEYS = ("secret-right", "secret-b", "secret-c", "secret-d")


def problem(number: int, options: int = 4) -> Problem:
    """A problem whose right option is the first."""
    shown = tuple(Option(key, f"text {key[7:]} {number}", f"plain {number}") for key in KEYS[:options])
    return Problem(f"q{number}", f"Question {number}?", f"Question {number}?", "own", shown, KEYS[0])


PROBLEMS = (problem(0), problem(1), problem(2), problem(3, 3))
TALK = {"step": "chat", "id": "talk", "model": "bot", "answer": True, "problem_in_prompt": True}
LATER = {
    "step": "info",
    "id": "later",
    "title": "Chosen: {{own.answer}}",
    "text": "You chose {{own.answer}}.",
    "when": {"own.answer": KEYS[0]},
}


def study(how: str, *steps: Any) -> Study:
    loop = {"each": "q", "of": "pool", "order": "listed", "flow": list(steps)}
    return small(loop, problems=PROBLEMS, models=("bot",), pool={"options": how})


def letters(session: Driven) -> dict[str, str]:
    """The texts of the options on the screen by their letters."""
    return {letter: text for letter, text in session.screen.panel.fields[0].model_dump()["options"].items()}


def letter_of(session: Driven, text: str) -> str:
    return next(letter for letter, shown in letters(session).items() if shown.startswith(text))


@pytest.mark.parametrize("how", ["shuffled", "shuffled_once"])
def test_one_letter_means_the_same_to_all_and_the_key_is_stored(how: str) -> None:
    whole, orders, places = study(how, {"step": "answer", "id": "own"}, LATER, TALK), [], Counter[str]()
    for seed in range(40):
        session, drawn = Driven(whole, str(seed)), []
        for number in range(4):
            shown = letters(session)
            drawn.append([text.split()[1] for text in shown.values()])
            right = letter_of(session, "text right")
            places[right] += 1
            assert list(shown) == list("ABCD")[: len(shown)]
            assert "secret" not in json.dumps(screen_json(session.screen, PictureMap())) + repr(session.screen)
            session.do(answer=right)
            assert session.state.facts[f"q[{number}]/own"][-1].data == {"answer": KEYS[0]}
            assert session.screen.panel.blocks[0].text == f"You chose {right}."
            assert session.screen.panel.title == f"Chosen: {right}"
            session.do()
            assert letters(session) == shown
            session.do("say", text="Help")
            (task,) = pending_tasks(whole, session.state)
            listed = "\n".join(f"{letter}. {text}" for letter, text in shown.items())
            assert task.data["messages"][0]["text"].endswith(listed)
            assert [option.text for option in task.data["problem"].options] == list(shown.values())
            assert task.data["problem"].answer == right
            session.hear().do(answer=right)
        orders.append(drawn)
        steps = [place for place in visited(whole, session.state) if place.path.endswith(("own", "talk"))]
        views = (answered(place, place.node.fields(place), given_by(place.facts[-1])) for place in steps)
        assert all(view.correct and view.given[0].startswith("text right") for (view,) in views)
    assert all((a == b) == (how == "shuffled_once") or how == "shuffled" for a, b, *_ in orders)
    assert sum(a == b for a, b, *_ in orders) < 10 or how == "shuffled_once"
    assert all(places[letter] > 20 for letter in "ABC"), "four standard errors of 40 or more"


def test_every_prefix_of_a_session_leads_to_the_order_that_was_shown() -> None:
    session = Driven(study("shuffled", {"step": "answer", "id": "own"}), "7")
    for _ in range(4):
        session.do(answer="A")
    events = session.state.events
    cut = [number for number, event in enumerate(events) if event.kind == "ordered"]
    assert len(cut) == 4
    for number in cut:
        state = fold(events[:number])
        (task,) = pending_tasks(session.study, state)
        assert (task.kind, task.data, screen(session.study, state).actions) == ("order", events[number].data, ())
        act = Action("submit", task.path, {"answer": "A"}, 0, seen=state.changed)
        with pytest.raises(Refused) as refused:
            decide(session.study, state, act)
        assert refused.value.reason == "not_offered"


def test_a_recommendation_has_the_letter_that_is_shown_and_is_recorded_by_its_key() -> None:
    advised = [replace(one, tags={"hint": KEYS[0]}) for one in PROBLEMS]
    loop = {"each": "q", "of": "pool", "flow": [{"step": "answer", "advice": "hint"}]}
    letters_seen = set()
    for seed in range(20):
        session = Driven(small(loop, problems=advised, pool={"options": "shuffled"}), str(seed))
        right = letter_of(session, "text right")
        assert f" {right}. text right" in session.screen.panel.blocks[-1].text
        assert session.do(answer=right).last_of("submitted").data["advice"] == KEYS[0]
        letters_seen.add(right)
    assert len(letters_seen) > 2


def test_problems_are_chosen_by_the_key_of_an_answer_not_by_its_letter() -> None:
    tagged = [replace(one, tags={"after": KEYS[0] if one.id == "q3" else "none"}) for one in PROBLEMS]
    inner = {"each": "more", "of": "pool", "where": {"after": "{{own.answer}}"}, "flow": [{"step": "answer"}]}
    flow = [{"step": "answer", "id": "own"}, inner]
    loop = {"each": "q", "of": "pool", "where": {"after": "none"}, "take": 1, "flow": flow}
    for seed in range(4):
        session = Driven(small(loop, problems=tagged, pool={"options": "shuffled"}), str(seed))
        assert session.do(answer=letter_of(session, "text right")).path == "q[0]/more[0]/answer"


def test_a_wrong_answer_is_wrong_in_a_check_and_what_passes_is_a_letter() -> None:
    whole = study("shuffled", {"step": "check", "kind": "attention", "ask_problem": True})
    for seed in range(10):
        session = Driven(whole, str(seed))
        place = next(iter(visited(whole, session.state)))
        right = letter_of(session, "text right")
        assert place.node.passing(place) == {"answer": right}
        wrong = next(letter for letter in letters(session) if letter != right)
        passed = [Driven(whole, str(seed)).do(answer=letter).last_of("submitted").data for letter in (right, wrong)]
        assert [(data["passed"], data["answer"] == KEYS[0]) for data in passed] == [(True, True), (False, False)]


def test_what_was_chosen_when_the_time_ran_out_is_kept_by_its_key() -> None:
    limited = {"step": "answer", "id": "own", "time_limit": {"after_s": 60}}
    session = Driven(study("shuffled", limited))
    typed = {"answer": letter_of(session, "text right")}
    session.expire(typed)
    assert session.last_of("expired").data["typed"] == {"answer": KEYS[0]}


def test_questions_rows_and_options_of_a_survey_are_shuffled_and_read_as_listed() -> None:
    row = {"type": "single_choice", "options": ["often", "seldom", "never"], "matrix": "How often?"}
    asked = [
        {"type": "multiple_choice", "name": "tools", "text": "Tools?", "options": ["pen", "paper", "phone"]},
        *({**row, "name": name, "text": name} for name in ("read", "write", "count")),
        {"type": "scale", "name": "mood", "text": "Mood?", "options": ["bad", "so so", "good"]},
    ]
    seen: set[tuple[str, ...]] = set()
    for seed in range(30):
        survey = {"step": "survey", "questions": asked, "options": "shuffled", "order": "shuffled"}
        session = Driven(small(survey), str(seed))
        fields = {field.name: list(field.model_dump().get("options", ())) for field in session.screen.panel.fields}
        names = tuple(fields)
        rows = sorted(map(names.index, ("read", "write", "count")))
        assert rows == list(range(rows[0], rows[0] + 3))
        assert fields["read"] == fields["write"] == fields["count"]
        assert fields["mood"] == ["bad", "so so", "good"]
        assert session.state.events[-1].data["questions"] == list(names)
        given = {"tools": fields["tools"][::-1], "read": "never", "write": "never", "count": "often", "mood": "bad"}
        session.do(**given)
        assert session.last_of("submitted").data == {**given, "tools": ["pen", "paper", "phone"]}
        seen.add((*names, *fields["tools"]))
    assert len(seen) > 20
