"""What models are told: a prompt for each condition, with names filled in, and the problem where the step says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.session.replies.request import request_for
from experiments.events import PendingTask
from experiments.session.engine import fold, pending_tasks
from experiments.study.location import State
from experiments.study.study import Study
from problems.problem import Option, Problem
from tests.fakes.driven import places, small
from tests.fakes.sessions import play

PROBLEM = Problem(
    id="p1",
    text="What is zq-text?",
    plain="zq-plain",
    dataset="d",
    answer="B",
    options=(Option("A", "zq-option one", "zq-plain"), Option("B", "zq-option two", "zq-plain")),
    tags={"topic": "bees", "hint": "zq-answer"},
)
ASK = {"step": "survey", "id": "about", "questions": [{"type": "short_text", "name": "word", "text": "A word?"}]}
TALK = {"step": "chat", "min_messages": 1}
PICK = {"by": "tone", "pick": {"warm": "Be warm.", "cold": "Be cold."}}


def told(system: Any = "", step: Any = TALK, models: Any = None) -> Study:
    models = models or {"tutor": {"backend": "scripted", "system": system}}
    loop = {"each": "item", "of": "pool", "flow": [step]}
    return small(ASK, loop, problems=[PROBLEM], models=models, factors={"tone": ["warm", "cold"]})


def owed_replies(study: Study, seed: str = "1") -> Iterator[tuple[State, PendingTask]]:
    """Every reply that is owed in a session, with the state in which it is."""
    log = []
    for _, events in play(study, seed):
        log += events
        state = fold(log)
        yield from ((state, job) for job in pending_tasks(study, state) if job.kind == "reply")


@pytest.mark.parametrize(("word", "read"), [("{{item.hint}}", "{{item.hint}}"), (["red", "blue"], "red, blue")])
def test_a_persons_words_are_not_filled_again_and_several_are_a_list(word: Any, read: str) -> None:
    study = told("Dear {{about.word}}.")
    for state, job in owed_replies(study):
        facts = [
            e if e.path != "about" else type(e)(e.seq, e.at_us, e.by, e.path, e.kind, {"word": word})
            for e in state.events
        ]
        (again,) = pending_tasks(study, fold(facts))
        assert again.data["messages"][0]["text"] == f"Dear {read}."
        assert job.kind == "reply"


@pytest.mark.parametrize("step", [{**TALK, "model": "tutor"}, {"step": "compare"}], ids=["chat", "compare"])
@pytest.mark.parametrize("sees", [False, True])
def test_the_models_see_the_problem_only_where_the_step_says_so(step: dict[str, Any], sees: bool) -> None:
    models = {name: {"backend": "scripted", "system": "Help."} for name in ("tutor", "other")}
    study = told(step={**step, "problem_in_prompt": sees}, models=models)
    requests = [request_for(study, job.data, job.data["model"], "") for _, job in owed_replies(study)]
    assert requests
    for request in requests:
        system, *said = request.messages
        assert {message.role for message in said} <= {"user", "assistant"}
        whole = "Help.\n\nThe problem being worked on:\n\nWhat is zq-text?\n\nA. zq-option one\nB. zq-option two"
        assert system.text == (whole if sees else "Help.")
        assert ("zq-option" in repr(request)) == sees, "what a person writes may quote the text, but has no options"
        assert not any(word in repr(request) for word in ("zq-plain", "zq-answer"))


FAULTY: tuple[tuple[Any, str], ...] = (
    ("For {{backgruond.age}}", ""),
    ({**PICK, "pick": {"warm": "Be {{tonne}}.", "cold": ""}}, ".pick.warm"),
    ({**PICK, "by": "tonne"}, ".by"),
    ({"by": "tone", "pick": {"warm": ""}}, ".pick"),
    ({"by": "tone", "pick": {"warm": "", "cold": "", "wram": ""}}, ".pick.wram"),
    ({"by": "tone", "pikc": {}}, ".pikc"),
)


@pytest.mark.parametrize(("system", "where"), FAULTY)
def test_an_error_of_a_prompt_is_reported_once_at_its_place(system: Any, where: str) -> None:
    assert places(told, system).count(f"models.tutor.system{where}") == 1
