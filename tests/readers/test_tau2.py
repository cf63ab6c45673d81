"""tau2's own evaluator scores people's conversations about its mock domain, and Parley's rewards are the same.

tau2-bench is not on PyPI. What `make readers` installs is an earlier version of it, as NVIDIA publishes it; TAU2_PYTHON
names the Python (3.12) of an environment with another, `pip install -e tau2-bench`. Last seen: 1.0.1 (a2c0247).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from app.extensions.evals.samples import exported_sessions
from app.extensions.evals.tau2 import task_results, write_results
from app.tools.packages import REPLAYED, TOOL_SERVERS
from experiments.views.rewards import reward, reward_at
from problems.errors import ProblemError
from problems.tau2 import evaluation_of, load
from storage.datasets.exports.plan import ExportRequest
from tests.fakes import studies
from tests.fakes.databases import fill
from tests.fakes.once import database_of
from tests.readers.conftest import RunReader

pytestmark = pytest.mark.nightly
PYTHON = os.environ.get("TAU2_PYTHON", "")
SCRIPT = Path(__file__).parent / "scripts" / "score_tau2.py"
NAME = "mock-domain"
SESSIONS = 8
# Those that need nothing but a conversation, and no assertion: where one does not hold, the evaluator breaks off.
POSSIBLE = ("create_task_1", "create_task_1_nl_eval", "update_task_1", "impossible_task_1")


RunTau2 = Callable[..., Any]


@pytest.fixture(scope="module")
def run_tau2(request: pytest.FixtureRequest) -> RunTau2:
    """Run the script with files of results; the JSON that it prints last is returned."""
    if not PYTHON:
        run_reader: RunReader = request.getfixturevalue("run_reader")
        return partial(run_reader, "score_tau2")

    def run(*files: Path) -> Any:
        done = subprocess.run([PYTHON, str(SCRIPT), *map(str, files)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


class MockDomain:
    """The tools of tau2's mock domain, which say what they do there."""

    def __init__(self, folder: Path) -> None:
        self.database: dict[str, Any] = json.loads((folder / "db.json").read_text("utf-8"))

    @property
    def tools(self) -> Mapping[str, Callable[..., str]]:
        own = (self.create_task, self.update_task_status, self.get_users, self.transfer_to_human_agents)
        return {tool.__name__: tool for tool in own}

    def create_task(self, user_id: str, title: str, description: str | None = None) -> str:
        if user_id not in self.database["users"]:
            raise ProblemError(f"User {user_id} not found")
        key = f"task_{len(self.database['tasks']) + 1}"
        task = {"task_id": key, "title": title, "description": description, "status": "pending"}
        self.database["tasks"][key] = task
        self.database["users"][user_id]["tasks"].append(key)
        return json.dumps(task)

    def update_task_status(self, task_id: str, status: str) -> str:
        if task_id not in self.database["tasks"]:
            raise ProblemError(f"Task {task_id} not found")
        self.database["tasks"][task_id]["status"] = status
        return json.dumps(self.database["tasks"][task_id])

    def get_users(self) -> str:
        return json.dumps([*self.database["users"].values()])

    def transfer_to_human_agents(self, summary: str) -> str:
        return "Transfer successful"


@pytest.fixture(scope="module")
def domains(run_tau2: RunTau2) -> Path:
    return Path(run_tau2()["domains"])


@pytest.fixture
def mock(domains: Path, tmp_path: Path) -> Iterator[Path]:
    """A study of the mock domain's tasks, with its tools in this process."""
    folder = tmp_path / "mock"
    folder.mkdir()
    for name in ("policy.md", "db.json", "split_tasks.json"):
        (folder / name).write_bytes((domains / "mock" / name).read_bytes())
    tasks = json.loads((domains / "mock" / "tasks.json").read_text("utf-8"))
    (folder / "tasks.json").write_text(json.dumps([task for task in tasks if task["id"] in POSSIBLE]), "utf-8")

    def serve(session: str) -> MCPServer:
        server = MCPServer(NAME)
        for tool in MockDomain(folder).tools.values():
            server.add_tool(tool, structured_output=False)
        return server

    TOOL_SERVERS.entries[NAME] = serve
    REPLAYED.add(NAME)
    yield folder
    del TOOL_SERVERS.entries[NAME]
    REPLAYED.remove(NAME)


def written(folder: Path) -> str:
    raw = {
        "study": "mock",
        "title": "Mock",
        "export_schemas": [],
        "problems": {"tasks": {"source": "tau2", "path": "mock"}},
        "models": {"agent": {"backend": "scripted", "system": "{{problem.policy}}", "options": {"wrong": 0.4}}},
        "tools": {"desk": {"package": NAME, "writes": ["create_task", "update_task_status"]}},
        "flow": [
            {"each": "task", "of": "tasks", "flow": [{"step": "chat", "model": "agent", "tools": "desk"}]},
            {"step": "finish"},
        ],
    }
    return str(studies.write(folder, raw))


def test_rewards_are_those_of_tau2s_evaluator(
    run_tau2: RunTau2, mock: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    study = written(tmp_path)
    database = database_of(tmp_path_factory, "mock", lambda one: asyncio.run(fill(one, [study], SESSIONS, "1")))
    request = ExportRequest("mock", "tidy")
    files = [file for file, _ in write_results(task_results(database, request, 0), tmp_path / "results")]
    theirs = run_tau2(*files)
    ours = []
    for record, _ in exported_sessions(database, request):
        for place in record.places.steps:
            if place.scope.problem is not None and (known := reward_at(place)) is not None:
                found = reward(evaluation_of(place.scope.problem), place.facts, partial(MockDomain, mock))
                ours.append((found.reward, dict(found.parts), known.ended))
    assert len(theirs) == len(ours) == SESSIONS * len(POSSIBLE)
    for (value, parts, ended), their in zip(ours, theirs.values(), strict=True):
        assert ended
        # it says nothing of a part that a task wants nothing of
        assert {part: their["parts"].get(part, 1) for part in parts} == parts
        assert their["reward"] == value
    assert {value for value, *_ in ours} >= {0, 1}


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_its_domains_are_read_whole(domains: Path, domain: str) -> None:
    tasks = json.loads((domains / domain / "tasks.json").read_text("utf-8"))
    assert [one.id for one in load(domains / domain)] == [task["id"] for task in tasks]
