"""Memory over waves, from clicks to what a model server is sent: to the letter, and of nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.bots.dry_run import estimate_by_simulation
from app.session.transitions import LoadedSession
from experiments.events import Event
from experiments.study.resolve import resolve
from experiments.study.study import Study
from storage import tables
from storage.registers.persons import person_of
from storage.reports.reproducibility import recompute_draws
from tests.fakes.clicks import click, present
from tests.fakes.model_server import Server
from tests.fakes.sitting import Sitting
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
TALK = {"step": "compare", "models": ["tutor", "other"], "vote_when": "at_end", "min_messages": 0}
SECRET = "I keep bees in Kiel."


def study(kind: str, notes: str = "notes", **more: Any) -> Study:
    model = {"backend": "openai", "system": "Be kind.", "price": {"prompt": 1, "completion": 1}}
    facts = [{"step": "facts"}] if kind == "facts" else []
    end = {"step": "finish", "code": "DONE"}
    made = {} if kind == "transcript" else {"model": "notes"}
    raw: dict[str, Any] = {
        "study": f"weeks-{kind}",
        "title": "Weeks",
        "models": {"tutor": model, "other": model, "notes": {**model, "model": notes}},
        "memory": {"kind": kind, **made, **more},
        "waves": [{"wave": "One", "flow": [TALK, *facts, end]}, {"wave": "Two", "flow": [TALK, end]}],
    }
    return resolve(raw, {}, {})


class People(Sitting):
    """The people of studies, at a service whose models are at a fake server."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder, study("facts"), openai_base_url=server.base_url, retry_wait_s=0.01)
        self.server = server

    async def first(self, study: Study, text: str = SECRET) -> LoadedSession:
        self.service.prepare(study)
        session = await self.service.enrol(study, origin="person")
        session = await self.talk(session, text)
        session = await click(self.service, session, "vote", winner="a")
        if session.screen.path.endswith("facts"):
            given = {field.name: f"{field.proposed} (yes)" for field in session.screen.panel.fields}  # type: ignore[attr-defined]
            session = await click(self.service, session, **given)
        assert session.state.outcome == "complete"
        return session

    async def talk(self, session: LoadedSession, text: str) -> LoadedSession:
        return await click(self.service, session, "say", text=text)

    async def second(self, first: LoadedSession) -> LoadedSession:
        person = person_of(self.database, first.stream)
        assert person is not None
        return await present(self.service, (await self.service.begin_wave(person)).stream)

    def prompts(self, model: str) -> list[str]:
        """The system prompts that a model was sent, oldest first."""
        bodies = (received.body for received in self.server.requests if received.body["model"] == model)
        return [body["messages"][0]["content"] for body in bodies]

    def event(self, session: LoadedSession, kind: str) -> Event:
        return next(event for event in reversed(facts(self.database, session.stream)) if event.kind == kind)


@pytest.fixture
async def people(tmp_path: Path, models: Server) -> AsyncIterator[People]:
    async with People(tmp_path, models) as found:
        yield found


@pytest.mark.parametrize("kind", ["transcript", "summary", "facts"])
async def test_the_second_waves_request_holds_what_the_event_says_and_nothing_of_others(
    people: People, kind: str
) -> None:
    people.server.reply_to = lambda text: f"Aha: {text}"
    weeks = study(kind)
    await people.first(weeks, "Somebody else.")
    second = await people.second(await people.first(weeks))
    await people.talk(second, "Hm?")
    memory = people.event(second, "remembered")
    assert (SECRET in memory.data["text"], "Somebody else." in memory.data["text"]) == (True, False)
    for model in ("tutor", "other"):
        assert (
            people.prompts(model)[-1]
            == f"Be kind.\n\n{weeks.file.memory and weeks.file.memory.intro}\n\n{memory.data['text']}"
        )
    replied = people.event(second, "replied")
    assert replied.data["memory"] == memory.seq
    requests = query(
        people.database, "SELECT request FROM attempt WHERE stream = :stream AND slot = 'a'", stream=second.stream
    )
    assert memory.data["text"][:9] in str(requests)
    spent = query(people.database, "SELECT count(*) FROM attempt WHERE slot = 'memory' AND cost > 0")
    assert spent == [(0 if kind == "transcript" else 1 if kind == "summary" else 2,)]
    assert not recompute_draws(people.database, weeks.name).differences


async def test_nobody_reads_a_summary_and_a_withdrawal_leaves_nothing_of_it(people: People) -> None:
    first = await people.first(study("summary"))
    second = await people.second(first)
    assert [text async for text, _ in people.service.follow(second, 0, "memory")] == []
    assert SECRET not in repr(second.screen)
    assert SECRET in repr(facts(people.database, second.stream))
    await people.service.withdraw(first.stream)
    with people.database.connect() as connection:
        for table in tables.metadata.sorted_tables:
            assert SECRET not in repr(connection.execute(select(table)).all()), table.name


@pytest.mark.parametrize(("notes", "why"), [("fault:500", "status_500"), ("fault:hang", "time_limit")])
async def test_a_summary_that_fails_or_takes_too_long_is_recorded_and_the_conversation_goes_on(
    people: People, notes: str, why: str
) -> None:
    failed = await people.second(
        await people.first(study("summary", notes, time_limit_s=0.5 if why == "time_limit" else 60))
    )
    memory = people.event(failed, "remembered")
    assert (memory.data["text"], memory.data["failed"], memory.by) == ("", why, "model")
    await people.talk(failed, "Hm?")
    assert people.prompts("tutor")[-1] == "Be kind."
    assert "memory" not in people.event(failed, "replied").data


async def test_what_memories_cost_is_in_the_estimate_and_simulated_people_confirm_their_facts() -> None:
    for kind, calls in (("summary", 1.0), ("facts", 1.0), ("transcript", 0.0)):
        estimate = await estimate_by_simulation(study(kind), 2, 100)
        assert estimate.calls.get("notes", 0.0) == calls, kind
