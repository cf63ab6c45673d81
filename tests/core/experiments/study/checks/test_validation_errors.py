"""Keys that no part of a study has: the nearest key of just that part is named, however deep it lies."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from experiments.study.checks.validation_errors import parse_leniently
from experiments.study.resolve import resolve

LEVEL = {"type": "slider", "name": "level", "stp": 2}
PARTS: dict[str, dict[str, Any]] = {
    "honeypot": {"integrity": {"honypot": True}},
    "country": {"privacy": {"model_servers": {"one": {"contry": "NL"}}}},
    "prompt": {"models": {"price": {"backend": "scripted", "price": {"prmpt": 1}}}},
    "where": {"factors": {"arm": {"one_of": "pool.tag", "wher": {}}}},
    "question": {"problems": {"pool": {"columns": {"questn": "Q"}}}},
    "action": {"flow": [{"step": "chat", "on_failure": {"actoin": "stop"}}]},
    "step": {"flow": [{"phase": "One", "flow": [{"step": "survey", "questions": [LEVEL]}]}]},
    "required": {"flow": [{"step": "survey", "questions": [{"instrument": "sus", "rquired": False}]}]},
}


@pytest.mark.parametrize("meant", PARTS)
def test_an_unknown_key_is_named_with_the_nearest_of_its_part(meant: str) -> None:
    _, issues = parse_leniently({"study": "s", "title": "S", "flow": [], **PARTS[meant]})
    assert [f"'{meant}'" in issue.what for issue in issues if "no such key" in issue.what] == [True]


def test_a_question_that_cannot_be_read_hides_no_other_error_of_its_step() -> None:
    good = {"type": "long_text", "name": "why", "text": "Why {{nothing}}?"}
    questions = [{"type": "slidr", "name": "level"}, good, {"type": "single_choice", "name": "one", "options": 3}]
    step = {"step": "survey", "id": "ask", "text": "Of {{nobody}}", "when": {"nowhere": "x"}, "questions": questions}
    raw = {"study": "s", "title": "S", "flow": [step, {"step": "finish", "text": "{{ask.level}}"}]}
    with pytest.raises(StudyError) as error:
        resolve(raw, {}, {})
    assert sorted(one.where for one in error.value.found) == [
        *("flow[0].questions[0]", "flow[0].questions[1].text", "flow[0].questions[2].options"),
        *("flow[0].text", "flow[0].when"),
    ]
