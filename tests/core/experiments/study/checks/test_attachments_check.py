"""Where pictures can be attached, every model that may reply sees them."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.driven import ABOUT, small

BLIND = {"backend": "openai", "model": "m", "system": ""}
AT = "flow[0].flow[0].attach"
SEEING = {**BLIND, "sees": ["image"]}


@pytest.mark.parametrize(
    ("models", "found"),
    [
        ({"one": SEEING, "two": BLIND}, []),
        ({"one": {"backend": "scripted", "system": ""}, "two": BLIND}, []),
        ({"one": BLIND, "two": SEEING}, [AT]),
        ({"one": {**SEEING, "fallback": ["two"]}, "two": BLIND}, [AT]),
    ],
)
def test_a_model_that_may_reply_sees_what_is_attached(models: dict[str, Any], found: list[str]) -> None:
    steps = [
        {"step": "chat", "id": "talk", "model": "one", "attach": ["image"]},
        {"step": "chat", "id": "spare", "model": "two"},
    ]
    faults: list[str] = []
    try:
        small({"each": "item", "of": "pool", "flow": steps}, problems=[ABOUT], models=models)
    except StudyError as error:
        faults = [one.where for one in error.found]
    assert faults == found
