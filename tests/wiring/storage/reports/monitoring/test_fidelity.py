"""Calls of tools for whoever watches and exports a study: numbers, costs, and what each gave, which is inert."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.datasets.tidy.columns import NAME
from storage.reports.monitoring import load_monitor
from tests.contract.test_tidy import check_cells, read
from tests.fakes.console import console
from tests.fakes.databases import export
from tests.fakes.researcher import value
from tests.fakes.tool_desk import FIND, PAY, PRICE, Desk
from tests.fakes.tool_server import offered
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
WHY = "<i>Too much.</i>"


async def test_calls_are_counted_paid_for_and_told(tmp_path: Path) -> None:
    with offered():
        desk = await Desk(tmp_path, FIND, PAY).say()
        await desk.decide("deny", why=WHY)
        await desk.close()
    seen = load_monitor(desk.database, desk.study, "person", 0)
    assert dict(seen.fidelity.tools) == {("one", "find"): (1, 0, 0), ("one", "pay"): (1, 0, 1)}
    (model,) = seen.models
    assert (model.calls, model.failed, model.unknown) == (2, 0, 0)
    tokens = model.prompt_tokens * PRICE["prompt"] + model.completion_tokens * PRICE["completion"]
    costs = [event.data["cost"] for event in desk.events if event.kind in ("called", "replied")]
    assert min(costs) > 0
    assert sum(costs) == pytest.approx(seen.spent) == pytest.approx(tokens / 1e6)
    check_cells(export(desk.database, "desk", NAME, tmp_path / "tidy", "person"))
    found, paid = read(tmp_path / "tidy", "tool_calls")
    assert (found["decision"], found["set"], found["failed"]) == ("not_asked", "desk", "")
    assert found["result"].startswith("Order 7 is on its way. <b>")
    assert (paid["decision"], paid["reason"], paid["begun"], paid["result"]) == ("refused", WHY, "", "")
    assert paid["arguments"] == '{"order": "7"}'
    (reply,) = [row for row in read(tmp_path / "tidy", "messages") if row["tool_calls"]]
    assert (reply["seq"], reply["tool_calls"]) == (paid["reply"], "2")
    assert query(desk.database, "SELECT sum(calls), sum(cost) FROM model_usage") == [(2, pytest.approx(sum(costs)))]
    async with console(tmp_path, desk.database) as (_, researcher):
        opened = await researcher.open(study="desk", tab="sessions", session="1")
        story = value(opened["session-story"])
        watched = await researcher.open(study="desk", tab="monitoring")
    assert story.count("message tool") == 2
    assert "&lt;b&gt;" in story
    assert not {"<b>", "<i>"} & {story[at : at + 3] for at in range(len(story))}
    assert 'data-tool="pay"' in "".join(value(part) for part in watched.values() if "data-tool" in str(part))
