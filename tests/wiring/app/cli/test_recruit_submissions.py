"""`parley recruit` of submissions at Prolific: what is listed, agreed to, sent, and left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.commanding import Done, parley
from tests.fakes.prolific_api import TOKEN, WORKSPACE
from tests.fakes.recruited import Live, live
from tests.fakes.served import SECRET

pytestmark = pytest.mark.anyio
REASON = "The answers to all three attention checks were other than those that the instructions above asked for."


def run(here: Live, *words: str, typed: str = "") -> Done:
    at = {"PARLEY_PROLIFIC_URL": here.fake.url, "PARLEY_PROLIFIC_TOKEN": TOKEN, "PARLEY_SECRET": SECRET}
    return parley("recruit", *words, folder=here.folder, typed=typed, **at)


async def test_submissions_are_listed_approved_rejected_and_paid_after_a_yes(tmp_path: Path) -> None:
    with live(tmp_path) as here:
        good, bad, going = [await here.join() for _ in range(3)]
        for submission in (good, bad):
            await here.complete(submission)
        unknown = here.fake.join(here.ids[0])
        rows = json.loads(run(here, "submissions", "paid", "--json").stdout)
        assert [(row["session"], row["to_do"], row["bonus_due"]) for row in rows] == [
            *((1, "approve", 0.25), (2, "approve", 0.25), (3, "wait", 0)),
        ]
        assert unknown in run(here, "submissions", "paid").stdout
        before = len(here.fake.changes)
        for words in (("submission", "paid", "approve"), ("bonuses", "paid")):
            assert run(here, *words, "--dry-run").returncode == 0
        assert run(here, "submission", "paid", "approve", typed="n\n").returncode != 0
        assert run(here, "bonuses", "paid", typed="5\n").returncode != 0
        assert len(here.fake.changes) == before, "nothing is sent before a yes"
        short = run(here, "submission", "paid", "reject", "2", "--text", "Bad.", "--category", "OTHER", "--yes")
        assert short.returncode != 0
        said = ("--text", REASON, "--category", "FAILED_CHECK")
        assert run(here, "submission", "paid", "reject", "2", *said, typed="y\n").returncode == 0
        assert run(here, "submission", "paid", "approve", typed="y\n").returncode == 0
        assert run(here, "submission", "paid", "message", "3", "--text", "Please go on.", "--yes").returncode == 0
        assert run(here, "bonuses", "paid", typed="0.25\n").returncode == 0
        assert run(here, "bonuses", "paid", "--sum", "0.25").returncode == 0, "nothing is due any more"
        assert {id_: (one["status"], one["bonus_payments"]) for id_, one in here.fake.submissions.items()} == {
            good: ("APPROVED", [25]),
            bad: ("REJECTED", []),
            going: ("ACTIVE", []),
            unknown: ("ACTIVE", []),
        }
        assert [one["body"] for one in here.fake.messages] == ["Please go on."]


async def test_the_webhook_is_subscribed_once(tmp_path: Path) -> None:
    with live(tmp_path) as here:
        here.fake.secret = ""
        for _ in "twice":
            assert run(here, "webhook").returncode == 0
        (hook,) = here.fake.hooks.values()
        assert (hook["target_url"], hook["is_enabled"], hook["workspace_id"]) == (
            "http://127.0.0.1:7860/hook/prolific",
            True,
            WORKSPACE,
        )
        assert here.fake.secret
