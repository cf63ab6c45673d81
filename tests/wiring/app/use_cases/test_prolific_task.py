"""What a server does with Prolific by itself: by the study's rule, and whichever of Prolific's ways works."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.session.service import Sessions
from app.use_cases.prolific_task import LATEST_S, SOON_S, ProlificTask
from app.use_cases.submissions import free_places
from experiments.events import Action
from storage.log.seats import held
from storage.payments.submission_log import observe
from storage.payments.submissions import Observation
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import Participants
from tests.fakes.http_server import Fault
from tests.fakes.prolific_api import TOKEN
from tests.fakes.recruited import START_US, Live, client_of, live
from tests.fakes.served import SECRET, settings_for

pytestmark = pytest.mark.anyio


def task_of(here: Live) -> ProlificTask:
    settings = settings_for(here.folder, prolific_url=here.fake.url, prolific_token=TOKEN)
    return ProlificTask(settings, here.database, Participants(here.database, SECRET), here.clock)


def approvals(here: Live) -> int:
    return len([path for _, path in here.fake.changes if "approve" in path])


async def test_complete_sessions_are_approved_by_rule_and_doubtful_ones_by_nobody(tmp_path: Path) -> None:
    with live(tmp_path, approval="automatic") as here:
        good, copied = await here.join(), await here.join()
        for submission in (good, copied):
            await here.complete(submission)
        log = Sessions(here.database, here.clock)
        why = {"why": "copied", "who": "ada"}
        await log.act(here.sessions[copied], Action("excluded", "", why, START_US, by="researcher"))
        await log.close()
        task = task_of(here)
        for _ in range(3):
            await task.once()
            here.clock.advance(SOON_S)
        statuses = {id_: one["status"] for id_, one in here.fake.submissions.items()}
        assert statuses == {good: "APPROVED", copied: "AWAITING REVIEW"}
        assert approvals(here) == 1


@pytest.mark.parametrize("approval", ["automatic", "by_hand"])
async def test_the_rule_goes_by_what_a_webhook_said_while_the_list_cannot_be_read(
    tmp_path: Path, approval: str
) -> None:
    with live(tmp_path, approval=approval) as here, client_of(here.fake) as client:
        submission = await here.join()
        await here.complete(submission)
        recruited = here.recruited(client)
        mark = recruited.participants.submission_mark(PROLIFIC, submission)
        free_places(recruited, [Observation(mark, "AWAITING REVIEW", here.clock.now_us(), "webhook", "e1")])
        early = await here.join()
        own = recruited.participants.submission_mark(PROLIFIC, early)
        observe(here.database, PROLIFIC, [Observation(own, "RETURNED", here.clock.now_us(), "webhook", "e2")], {}, 0)
        task = task_of(here)
        here.fake.faults = [Fault(status=400, on="GET studies/.*submissions")] * 2
        await task.once()
        assert approvals(here) == (approval == "automatic")
        with here.database.connect() as connection:
            assert held(connection, "paid") == [], "a return that was known before its session began frees its place"
        read = len(here.fake.requests)
        here.clock.advance(SOON_S)
        await task.once()
        assert len(here.fake.requests) == read, "after an error it waits longer"
        here.clock.advance(LATEST_S)
        await task.once()
        here.clock.advance(LATEST_S)
        await task.once()
        assert not here.fake.faults
        assert (recruited.payees()[0].status == "APPROVED") == (approval == "automatic")
