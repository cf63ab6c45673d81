"""Errors in `reminders`, each where it is."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.reminders import FILE, study


def places(**keys: Any) -> list[str]:
    try:
        study(**keys)
    except StudyError as error:
        return [issue.where for issue in error.found]
    return []


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
        ({"waves": FILE["waves"][:1]}, ["reminders"]),
        (
            reminders({"when": "1 hour before closing"})
            | {"waves": [FILE["waves"][0], {key: part for key, part in FILE["waves"][1].items() if key != "open_for"}]},
            ["reminders.send[0].when"],
        ),
    ],
)
def test_an_error_is_named_where_it_is(keys: dict[str, Any], wrong: list[str]) -> None:
    assert places(**keys) == wrong
