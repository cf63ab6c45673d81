"""A model alone that calls tools before it answers: what is recorded, what it costs, and what nobody allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.ai_alone.plan import AiAloneRequest, AloneCell, cells
from app.backends.base import Backend, Delta, Request, StreamEnd, ToolCall
from app.batch.plan import RunLimits, RunPlan
from app.batch.runner import run
from app.batch.tool_calls import complete_with_tools
from app.clock import SystemClock
from app.errors import AloneError, BackendError
from app.session.replies.tools import asked
from app.studies.loader import load_study
from app.tools.connection import ToolConnection
from experiments.session.tool_calls import NOT_ALLOWED
from storage.db.engine import open_database
from tests.fakes.let_go import let_go
from tests.fakes.served import settings_for
from tests.fakes.studies import write
from tests.fakes.tool_desk import FIND, PAY, PRICE
from tests.fakes.tool_server import NAME, offered
from tests.wiring.reading import query


@pytest.fixture
def paid() -> Iterator[list[str]]:
    with offered() as found:
        yield found


def study(*calls: dict[str, Any], backend: str = "scripted", **tools: Any) -> dict[str, Any]:
    options = {"calls": [[*calls]], "first_ms": 0, "pace_ms": 0} if backend == "scripted" else {}
    items = [{"question": "Where is order 7?", "options": ["Here", "On its way"], "answer": "On its way"}]
    return {
        "study": "desk",
        "title": "Desk",
        "problems": {"items": {"items": items}},
        "models": {"one": {"backend": backend, "options": options, "price": PRICE}},
        "tools": {"desk": {"package": NAME, "writes": ["pay"], **tools}},
        "ai_alone": {"tools": "desk", "extractor": "one"},
        "flow": [{"each": "item", "of": "items", "flow": [{"step": "chat"}]}, {"step": "finish"}],
    }


def planned(folder: Path, raw: dict[str, Any], *methods: str) -> list[AloneCell]:
    found = load_study(str(write(folder, raw)))
    assert found.file.tools
    specs = asyncio.run(asked(settings_for(folder), found.file.tools["desk"]))
    return cells(found, AiAloneRequest(methods=methods or ("free_text",), repeats=2, specs=specs))


def test_calls_are_made_recorded_and_paid_for_and_those_that_write_are_refused(tmp_path: Path, paid: list[str]) -> None:
    plan = RunPlan("desk", "alone", planned(tmp_path, study(FIND, PAY)))
    settings = settings_for(tmp_path)
    database = open_database(settings.database_url)
    ended = asyncio.run(run(database, settings, plan, RunLimits(2), lambda progress: None))
    (model,) = ended.models
    assert (ended.progress.failed, model.replies, paid) == (0, 4, [])
    attempts = query(database, "SELECT sent, text, cost, prompt_tokens FROM attempt WHERE step = 0 ORDER BY sample")
    sessions = set()
    for sent, text, cost, tokens in attempts:
        told = json.loads(sent)["messages"]
        assert [one["role"] for one in told] == ["system", "user", "assistant", "tool", "tool"]
        assert [call["tool"] for call in told[2]["calls"]] == ["find", "pay"]
        found, refused = (one["text"] for one in told[3:])
        assert found.startswith("Order 7 is on its way.")
        assert found[:22] in text
        assert refused == NOT_ALLOWED
        sessions.add(found)
        assert cost > 0
        assert tokens > sum(len(one["text"].split()) for one in told[:2])
    assert len(sessions) == 2, "each sample has a server of its own"
    assert [(n,) for n in (2,)] == query(database, "SELECT count(*) FROM attempt WHERE step = 1")
    assert not any(json.loads(sent)["tools"] for (sent,) in query(database, "SELECT sent FROM attempt WHERE step = 1"))
    let_go(database)


def test_tools_are_part_of_what_is_asked_but_not_for_a_letter(tmp_path: Path, paid: list[str]) -> None:
    methods = "free_text", "letter_only_zero_shot"
    with_tools = planned(tmp_path, study(FIND), *methods)
    others = planned(tmp_path, study(FIND, max_calls=3), *methods)
    assert [one.key == other.key for one, other in zip(with_tools, others, strict=True)] == [False, True]
    with pytest.raises(AloneError):
        planned(tmp_path, study(backend="scripted-user"))


class Endless(Backend):
    """Asks for tools, whatever it is told: one that is not offered, and one whose arguments are broken."""

    tools = True

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        for number, (tool, arguments) in enumerate((("nothing", "{}"), ("find", "["))):
            yield ToolCall(f"c{len(request.messages)}-{number}", tool, arguments)
        yield StreamEnd("tool_calls", request.model, 10, 1)


def test_calls_without_end_are_a_failure_that_is_paid_for(tmp_path: Path, paid: list[str]) -> None:
    (cell,) = planned(tmp_path, study(FIND, max_calls=4))
    prompt, settings = cell.next(()), settings_for(tmp_path)
    assert prompt
    assert prompt.tools
    connection = ToolConnection(prompt.tools, "s", settings)
    backend = Endless(settings, SystemClock().sleep)
    with pytest.raises(BackendError) as failed:
        asyncio.run(complete_with_tools(backend, prompt.request, settings, prompt.tools, connection))
    assert (failed.value.reason, failed.value.tokens) == ("too_many_calls", (30, 3))
