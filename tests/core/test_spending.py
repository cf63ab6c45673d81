"""What bounds how often models are asked, as the engine sees it: a participant's costs, and their haste."""

from __future__ import annotations

import pytest

from experiments.errors import Refused
from experiments.events import Event
from experiments.session.conversation import check_message_rate
from experiments.study.location import State
from tests.fakes.driven import Driven, small

PRICE = {"prompt": 1, "completion": 2}


def test_who_has_reached_the_limit_can_send_no_more_and_goes_on() -> None:
    models = {name: {"backend": "scripted", "price": PRICE} for name in ("one", "two")}
    session = Driven(small({"step": "compare", "min_messages": 3}, models=models, cost_limit=0.01))
    for cost, actions, left in ((0.001, ("say",), 19), (0.0045, ("submit",), 0)):
        session.do("say", text="Hello")
        for slot in session.slots:
            session.hear(slot, cost=cost)
        session.do("vote", winner="a")
        assert (session.actions, session.chat.remaining) == (actions, left)
    assert session.chat.minimum == 2, "three were wanted, but no third can be sent"
    assert session.do().path == "finish"


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
