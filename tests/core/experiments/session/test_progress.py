"""What a participant is told of how far they are."""

from __future__ import annotations

from itertools import groupby

from experiments.session.engine import screen
from tests.fakes.sessions import STUDIES, play, study

EVERYTHING = str(STUDIES / "everything.yaml")


def told(name: str) -> list[str]:
    words = (str(screen(study(name), state).progress.words) for state, _ in play(study(name), "1"))
    return [one for one, _ in groupby(word for word in words if word)]


def test_each_loop_is_counted_under_its_own_name() -> None:
    words = told(EVERYTHING)
    assert [one for one in words if one.endswith(" of 3")] == [f"Task {number} of 3" for number in (1, 2, 3)]
    assert {one.partition(",")[0] for one in words if one.startswith("Set")} <= {"Set 1 of 2", "Set 2 of 2"}
    theorems = [one for one in words if "theorem" in one]
    assert theorems[:2] == ["Set 1 of 2, theorem 1 of 2", "Set 1 of 2, theorem 2 of 2"]
    assert words[-1] == "Task 1 of 1"
