"""What bounds how often models are asked, as the engine sees it: a participant's costs, and their haste."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import Refused
from experiments.events import Action, Event
from experiments.session.conversation import check_message_rate
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.study import Study
from tests.fakes.sessions import enrolment, world

PRICE = {"prompt": 1, "completion": 2}


def study(step: dict[str, Any], **keys: Any) -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "models": {name: {"backend": "scripted", "price": PRICE} for name in ("one", "two")},
        "flow": [step, {"step": "finish"}],
        **keys,
    }
    return resolve(raw, {}, {})


def act(of: Study, state: State, kind: str, **values: Any) -> State:
    seen = screen(of, state)
    return fold(decide(of, state, Action(kind, seen.path, values, 0, seen=seen.seen)), state)


def begun(of: Study) -> State:
    state = fold(decide(of, State(), enrolment("1")))
    while (owes := world(of, state, 0)) is not None:
        state = fold(decide(of, state, owes), state)
    return state


def hear(of: Study, state: State, cost: float) -> State:
    while jobs := [job for job in pending_tasks(of, state) if job.kind == "reply"]:
        data = {"model": jobs[0].data["model"], "text": "So.", "cost": cost, "slot": jobs[0].slot}
        state = fold(decide(of, state, Action("reply", jobs[0].path, data, 0, by="model")), state)
    return state


def test_who_has_reached_the_limit_can_send_no_more_and_goes_on() -> None:
    of = study({"step": "compare", "min_messages": 3}, cost_limit=0.01)
    state = begun(of)
    for cost, actions, left in ((0.001, ("say",), 19), (0.0045, ("submit",), 0)):
        state = hear(of, act(of, state, "say", text="Hello"), cost)
        state = act(of, state, "vote", winner="a")
        seen = screen(of, state)
        assert (seen.actions, seen.panel.chat and seen.panel.chat.remaining) == (actions, left)
    assert seen.panel.chat is not None
    assert seen.panel.chat.minimum == 2, "three were wanted, but no third can be sent"
    assert screen(of, act(of, state, "submit")).path == "finish"


@pytest.mark.parametrize(("now_s", "refused"), [(30, True), (59, True), (61, False), (200, False)])
def test_only_so_many_messages_in_a_minute(now_s: int, refused: bool) -> None:
    kinds = ("said", "replied", "retried", "replied", "said", "failed")
    state = State(events=tuple(Event(n, n * 1_000_000, "participant", "x", kind, {}) for n, kind in enumerate(kinds)))
    more = (Event(9, now_s * 1_000_000, "participant", "x", "said", {}),)
    check_message_rate(state, more, 4)
    check_message_rate(state, (Event(9, 0, "participant", "x", "stopped", {}),), 1)
    if refused:
        with pytest.raises(Refused) as told:
            check_message_rate(state, more, 3 if now_s == 30 else 2)
        assert told.value.reason == "too_fast"
    else:
        check_message_rate(state, more, 3)
