"""Keys that no part of a study has: the nearest key of just that part is named, however deep it lies."""

from __future__ import annotations

import pytest

from experiments.errors import StudyError
from experiments.study.resolve import resolve


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
