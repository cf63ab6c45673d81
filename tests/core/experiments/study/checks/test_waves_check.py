"""What can be wrong with waves: all of it at once, each with its path."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.waves import INFO, study

END = {"step": "finish"}
ONE = {"wave": "One", "flow": [INFO, END]}


def wave(**keys: Any) -> dict[str, Any]:
    return {"wave": "Two", "flow": [INFO, END]} | keys


FAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "flow beside waves": ({"flow": [END]}, {"waves"}),
    "no wave": ({"waves": []}, {"waves"}),
    "without an end": ({"waves": [ONE, wave(flow=[INFO])]}, {"waves[1].flow"}),
    "two openings": ({"waves": [ONE, wave(opens={"after": "1 day", "on": "2027-01-01"})]}, {"waves[1].opens"}),
    "no opening": ({"waves": [ONE, wave(opens={"at": "09:00"})]}, {"waves[1].opens"}),
    "no time, once": ({"waves": [ONE, wave(opens={"after": "soon"})]}, {"waves[1].opens.after"}),
    "no date, once": ({"waves": [ONE, wave(opens={"on": "2027-02-30"})]}, {"waves[1].opens.on"}),
    "no hour": ({"waves": [ONE, wave(opens={"after": "1 day", "at": "9am"})]}, {"waves[1].opens.at"}),
    "an hour after hours": ({"waves": [ONE, wave(opens={"after": "3 hours", "at": "09:00"})]}, {"waves[1].opens.at"}),
    "an unknown wave": ({"waves": [ONE, wave(opens={"after": "1 day", "of": "two"})]}, {"waves[1].opens.of"}),
    "the first opens": (
        {"waves": [wave(opens={"after": "1 day"}, missed="drop", open_for="1 day")]},
        {"waves[0].opens", "waves[0].missed"},
    ),
    "it never closes": ({"waves": [ONE, wave(grace="1 day")]}, {"waves[1].open_for"}),
    "over before an earlier one opens": (
        {"waves": [ONE, wave(opens={"on": "2027-03-01"}), wave(id="x", opens={"after": "1 week"}),
                   wave(id="y", opens={"on": "2027-03-05"}, open_for="1 day")]},
        {"waves[3].opens.on"},
    ),
    "one id twice": ({"waves": [ONE, wave(), wave()]}, {"waves[2]"}),
    "a factor twice": ({"waves": [ONE, wave(factors={"help": ["a"]})]}, {"waves[1].factors.help"}),
    "a name of an earlier wave": (
        {"waves": [wave(id="a", factors={"mood": ["x"]}), wave(flow=[{"step": "info", "text": "{{mood}}"}, END])]},
        {"waves[1].flow[0].text"},
    ),
    "forgotten before they are back": (
        {"keep_ids_for": "9 days", "keep_for": "12 weeks",
         "waves": [ONE, wave(opens={"after": "1 week"}), wave(id="x", opens={"after": "1 day"}, open_for="1 day")]},
        {"keep_ids_for"},
    ),
    "no heading": ({"waves": [wave(wave=" ", id="a")]}, {"waves[0].wave"}),
}  # fmt: skip


@pytest.mark.parametrize(("keys", "wanted"), FAULTS.values(), ids=FAULTS)
def test_faults(keys: dict[str, Any], wanted: set[str]) -> None:
    with pytest.raises(StudyError) as caught:
        study(**keys)
    assert {fault.where for fault in caught.value.found} == wanted


def test_faults_of_form_and_of_meaning_come_together() -> None:
    waves = [ONE, wave(opens={"aftr": "1 day", "on": "2027-01-01"}), wave(opens={"after": "1 day", "of": "tow"})]
    with pytest.raises(StudyError) as caught:
        study(waves=waves)
    assert {fault.where for fault in caught.value.found} == {"waves[1].opens.aftr", "waves[2]", "waves[2].opens.of"}
