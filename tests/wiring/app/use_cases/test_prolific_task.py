"""What a server does with Prolific by itself: by the study's rule, and whichever of Prolific's ways works."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from app.recruiters.prolific import STATUS_CHANGE, WEBHOOK
from app.session.service import Sessions
from app.use_cases.prolific_task import LATER_S, SOON_S, ProlificTask
from app.use_cases.submissions import free_places
from app.web import server
from experiments.events import Action
from storage.accounts.model_servers import SavedServer, save_server
from storage.log.seats import held
from storage.payments.submissions import Observation, observe
from storage.registers.contacts import PROLIFIC
from storage.registers.participants import Participants
from tests.fakes.http_server import Fault
from tests.fakes.prolific_api import TOKEN, WORKSPACE
from tests.fakes.recruited import START_US, Live, client_of, live
from tests.fakes.served import SECRET, serving, settings_for
from tests.fakes.tool_desk import until

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
        here.clock.advance(LATER_S)
        await task.once()
        here.clock.advance(LATER_S)
        await task.once()
        assert not here.fake.faults
        assert (recruited.payees()[0].status == "APPROVED") == (approval == "automatic")


async def test_a_token_entered_in_the_console_serves_polling_and_webhooks_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(server.EVERY_S, "prolific", 0.05)
    with live(tmp_path, approval="automatic") as here, client_of(here.fake) as client:
        settings = settings_for(here.folder, prolific_url=here.fake.url)
        async with serving(settings, clock=here.clock) as served, httpx2.AsyncClient(timeout=60) as prolific:
            client.subscribe(STATUS_CHANGE, f"{served.url}{WEBHOOK}", WORKSPACE)
            submission = await here.join()
            await here.complete(submission)
            began = here.fake.outbox[0]

            async def post() -> int:
                return (await prolific.post(began.url, content=began.body, headers=dict(began.headers))).status_code

            assert await post() == 503
            token = SavedServer(PROLIFIC, PROLIFIC, here.fake.url, "ada", 0, b"")
            save_server(here.database, SECRET, token, TOKEN, here.clock.now_us)
            await until(lambda: here.fake.submissions[submission]["status"] == "APPROVED")
            here.clock.advance(60)
            assert await post() == 200
