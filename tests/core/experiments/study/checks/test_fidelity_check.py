"""What is said of the rules of `fidelity` where a part of the flow could not be read."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.driven import ABOUT, small

RULE = {"name": "asks", "must": "question"}
CHAT: dict[str, Any] = {"step": "chat", "model": "m"}


def places(chat: dict[str, Any], loop: dict[str, Any], rule: dict[str, Any], *more: Any, **keys: Any) -> list[str]:
    each = {"each": "item", "of": "pool", "vary": {"pace": ["slow", "fast"]}, "flow": [{**CHAT, **chat}], **loop}
    with pytest.raises(StudyError) as caught:
        small(
            each,
            *more,
            problems=[ABOUT],
            models=["m"],
            fidelity=[{**RULE, **rule}],
            factors={"arm": ["x", "y"]},
            **keys,
        )
    return [fault.where for fault in caught.value.found]


def test_what_the_unread_part_may_have_is_not_missed_elsewhere() -> None:
    consent, guess = (
        {"step": "consnt"},
        {"step": "guess", "text": "Who?", "options": {"a": "M", "b": "N"}, "truth": {"m": "a"}},
    )
    hides = {"hidden_instruction": "hazelnut"}
    unread = ["flow[0].flow[0].scripted.0", "flow[1]"]
    assert places({"scripted": {0: "Hi"}}, {}, {}, consent, guess, integrity=hides) == unread
