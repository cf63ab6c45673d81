"""What can be wrong with parts of a study file: all of it at once, each with its path."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import reminders as reminded
from tests.fakes import waves as waving
from tests.fakes.driven import ABOUT, places, small
from tests.fakes.reminders import FILE
from tests.fakes.waves import INFO

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
    assert {*places(waving.study, **keys)} == wanted


def test_faults_of_form_and_of_meaning_come_together() -> None:
    waves = [ONE, wave(opens={"aftr": "1 day", "on": "2027-01-01"}), wave(opens={"after": "1 day", "of": "tow"})]
    assert {*places(waving.study, waves=waves)} == {"waves[1].opens.aftr", "waves[2]", "waves[2].opens.of"}


def test_what_the_unread_part_may_have_is_not_missed_elsewhere() -> None:
    loop = {"each": "item", "of": "pool", "flow": [{"step": "chat", "model": "m", "scripted": {0: "Hi"}}]}
    guess = {"step": "guess", "text": "Who?", "options": {"a": "M", "b": "N"}, "truth": {"m": "a"}}
    keys = {"fidelity": [{"name": "asks", "must": "question"}], "integrity": {"hidden_instruction": "hazelnut"}}
    found = places(small, loop, {"step": "consnt"}, guess, problems=[ABOUT], models=["m"], **keys)
    assert found == ["flow[0].flow[0].scripted.0", "flow[1]"]


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
    loop = {"each": "item", "of": "pool", "flow": steps}
    assert places(small, loop, problems=[ABOUT], models=models) == found


SETS = {"desk": {"package": "desk"}, "till": {"package": "desk", "writes": ["pay"]}}


def test_a_set_of_tools_that_cannot_be_read_is_not_missed_where_it_is_used() -> None:
    sets = {"shop": {"package": "desk", "allow": ["serch", "order"], "writes": ["ordr"]}}
    loop = {"each": "item", "of": "pool", "flow": [{"step": "chat", "model": "one", "tools": "shop"}]}
    found = places(small, loop, problems=[ABOUT], models=("one",), tools=sets)
    assert found == ["tools.shop"]


def test_columns_have_no_tools_that_change_something() -> None:
    columns = {"step": "compare", "models": ["one", "two"]}
    other = {"step": "compare", "id": "other", "models": ["one", "two"], "tools": {"by": "arm", "pick": {"x": "desk"}}}
    keys = {"tools": SETS, "models": ("one", "two"), "factors": {"arm": ["x"]}}
    assert places(small, {**columns, "tools": "till"}, other, **keys) == ["compare.tools"]
    del keys["tools"]["till"]
    assert not places(small, {**columns, "tools": "desk"}, other, **keys)


def test_a_set_may_be_named_by_factors() -> None:
    sets = {"open-desk": {"package": "desk"}, "shut-desk": {"package": "desk"}}
    compare = {"step": "compare", "models": ["one", "two"], "tools": "{{door}}-{{place}}"}
    keys = {"tools": sets, "models": ("one", "two")}
    assert not places(small, compare, **keys, factors={"door": ["open", "shut"], "place": ["desk"]})
    found = places(small, compare, **keys, factors={"door": ["open", "ajar"], "place": ["desk"]})
    assert found == ["compare.tools"], "the other may be meant"


def test_a_question_that_cannot_be_read_hides_no_other_error_of_its_step() -> None:
    good = {"type": "long_text", "name": "why", "text": "Why {{nothing}}?"}
    questions = [{"type": "slidr", "name": "level"}, good, {"type": "single_choice", "name": "one", "options": 3}]
    step = {"step": "survey", "id": "ask", "text": "Of {{nobody}}", "when": {"nowhere": "x"}, "questions": questions}
    assert sorted(places(small, step, {"step": "info", "text": "{{ask.level}}"})) == [
        *("flow[0].questions[0]", "flow[0].questions[1].text", "flow[0].questions[2].options"),
        *("flow[0].text", "flow[0].when"),
    ]


def reminders(*send: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"reminders": {"channels": ["mail"], "send": [*send] or [{"when": "opening"}], **more}}


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        (reminders(), []),
        (
            reminders({"when": "1 Day  after opening", "text": "{{link}} {{closes}}", "subject": "{{study}} {{wave}}"}),
            [],
        ),
        (reminders({"when": "later"}), ["reminders.send[0].when"]),
        (reminders({"when": "after opening"}), ["reminders.send[0].when"]),
        (reminders({"when": "2 days after closing"}), ["reminders.send[0].when"]),
        (reminders({"when": "opening"}, {"when": "opening"}), ["reminders.send[1].when"]),
        (reminders({"when": "opening", "text": "Dear {{name}}"}), ["reminders.send[0].text"]),
        (
            reminders({"when": "opening", "text": "Hi"}) | {"translations": {"de": {"Hi": "{{wer}}"}}},
            ["translations.de"],
        ),
        (reminders({"when": "opening", "subject": " "}), ["reminders.send[0].subject"]),
        (reminders(quiet_hours={"start": "9pm"}), ["reminders.quiet_hours.start"]),
        (reminders(channels=[]), ["reminders.channels"]),
        (reminders(channels="mail"), ["reminders.channels"]),
        ({"waves": FILE["waves"][:1]}, ["reminders"]),
        (reminders({"when": "1 hour before closing"}) | {"waves": FILE["waves"][:1]}, ["reminders"]),
        ({"waves": [FILE["waves"][0], FILE["waves"][1] | {"wave": " "}]}, ["waves[1]"]),
        ({"prolific": {"description": "A", "minutes": "x", "spend_limit": 9}}, ["prolific.reward", "prolific.minutes"]),
        (
            reminders({"when": "1 hour before closing"})
            | {"waves": [FILE["waves"][0], {key: part for key, part in FILE["waves"][1].items() if key != "open_for"}]},
            ["reminders.send[0].when"],
        ),
    ],
)
def test_an_error_is_named_where_it_is(keys: dict[str, Any], wrong: list[str]) -> None:
    assert places(reminded.study, **keys) == wrong
