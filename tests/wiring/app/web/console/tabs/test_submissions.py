"""Submissions at Prolific in the console: seen first, and decided by an owner's word only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.console import Room, console
from tests.fakes.prolific_api import TOKEN
from tests.fakes.recruited import Live, live
from tests.fakes.researcher import Researcher, value

pytestmark = pytest.mark.anyio
REASON = "The answers to all three attention checks were other than those that the instructions above asked for."
At = tuple[Live, Room, Researcher]


@pytest.fixture
async def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[At]:
    with live(tmp_path) as here:
        for name, setting in {"PROLIFIC_URL": here.fake.url, "PROLIFIC_TOKEN": TOKEN}.items():
            monkeypatch.setenv(f"PARLEY_{name}", setting)
        async with console(tmp_path, here.database) as (room, researcher):
            yield here, room, researcher


async def test_submissions_are_decided_and_paid_by_an_owners_word(at: At) -> None:
    here, room, researcher = at
    good, bad = await here.join(), await here.join()
    for submission in (good, bad):
        await here.complete(submission)
    before = len(here.fake.requests)
    await researcher.open(tab="payments", study="paid")
    assert len(here.fake.requests) == before, "a page that is opened asks nothing"
    shown = await researcher.on("submissions-show", "click")
    assert value(shown["submissions"]).count("<tr>") == 3
    assert 'data-due="0.50"' in value(shown["submissions"])
    assert not {id_ for id_ in (good, bad) if id_ in value(shown["submissions"])}
    changes = len(here.fake.changes)
    said = {"submissions-session": "2", "submissions-what": "reject", "submissions-category": "FAILED_CHECK"}
    for button, given in (
        ("reject-yes", {**said, "submissions-reason": "Bad."}),
        ("reject-yes", {**said, "submissions-reason": REASON, "submissions-category": "NONE"}),
        ("reject-yes", {**said, "submissions-reason": REASON, "submissions-session": "x"}),
        ("pay", {"submissions-sum": "0.49"}),
        ("pay", {"submissions-sum": ""}),
    ):
        refused = await researcher.on(f"submissions-{button}", "click", **given)
        assert 'role="alert"' in value(refused["note"])
    room.as_("analyst", "Bob")
    for button in ("show", "approve", "ask", "reject-yes", "pay"):
        refused = await researcher.on(f"submissions-{button}", "click", **{**said, "submissions-sum": "0.50"})
        assert 'role="alert"' in value(refused["note"])
    assert len(here.fake.changes) == changes, "what is refused changes nothing"
    room.as_("owner")
    message = {"submissions-session": "1", "submissions-what": "send a message", "submissions-reason": "Hello."}
    await researcher.on("submissions-ask", "click", **message)
    assert [one["body"] for one in here.fake.messages] == ["Hello."]
    asked = await researcher.on("submissions-ask", "click", **{**said, "submissions-reason": REASON})
    assert asked["submissions-rejecting"]["visible"] is True
    assert here.fake.submissions[bad]["status"] != "REJECTED", "not before a yes"
    await researcher.on("submissions-reject-yes", "click", **{**said, "submissions-reason": REASON})
    await researcher.on("submissions-approve", "click")
    paid = await researcher.on("submissions-pay", "click", **{"submissions-sum": "0.25"})
    assert 'data-due="0' in value(paid["submissions"])
    statuses = [
        (here.fake.submissions[id_]["status"], here.fake.submissions[id_]["bonus_payments"]) for id_ in (good, bad)
    ]
    assert statuses == [("APPROVED", [25]), ("REJECTED", [])]
    assert [what.partition(" of ")[0] for _, what, _ in room.did if "Prolific" in what] == [
        *("asked Prolific to send a message: session 1", "asked Prolific to reject: session 2"),
        "asked Prolific to approve 1 submission",
        "asked Prolific to pay bonuses",
    ]
