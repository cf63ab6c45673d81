"""A study names model servers, the deployment has them: what is missing is told before anybody comes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.bots.simulate import simulate
from app.clock import VirtualClock
from app.errors import SettingsError
from app.library import load_study
from app.runtime import Runtime
from app.servers import Server as ModelServer
from experiments.core.resolve import Study
from experiments.errors import StudyError
from storage.engine import open_database
from tests.fakes import studies
from tests.fakes.asking import WAYS
from tests.fakes.model_server import Server, serve
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def models() -> Iterator[Server]:
    with serve() as server:
        yield server


def study_with(folder: Path, **model: Any) -> Study:
    return load_study(str(studies.chat(folder, **{"options": {}, **model})))


def runtime_with(folder: Path, **settings: Any) -> Runtime:
    database = open_database(f"sqlite:///{folder}/parley.db")
    return Runtime(database, settings_for(folder, **settings), VirtualClock(0))


async def test_a_server_that_the_deployment_does_not_have_is_told_at_the_start(tmp_path: Path) -> None:
    servers = {"gpu-lab": ModelServer(url="http://127.0.0.1:9/v1"), "azure": ModelServer(url="https://a.example")}
    runtime = runtime_with(tmp_path, servers=servers)
    with pytest.raises(SettingsError, match=r"'gpu-lib': PARLEY_SERVERS has gpu-lab, azure. Did you mean 'gpu-lab'"):
        runtime.prepare(study_with(tmp_path, backend="openai", server="gpu-lib"))
    await runtime.close()


async def test_recordings_that_are_not_there_are_told_at_the_start(tmp_path: Path) -> None:
    runtime = runtime_with(tmp_path, replay_dir=tmp_path)
    with pytest.raises(SettingsError, match=r"talks.jsonl: cannot be read"):
        runtime.prepare(study_with(tmp_path, backend="replay", options={"conversations": "talks.jsonl"}))
    await runtime.close()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"backend": "scripted", "server": "lab"}, "models.only.server: the backend 'scripted' asks no server"),
        ({"backend": "http"}, "models.only.server: the backend 'http' needs a `server`"),
        ({"backend": "http", "server": "lab"}, "models.only: options.path: field required"),
        ({"backend": "openai", "server": "http://gpu"}, "models.only.server"),
        ({"backend": "openai", "sever": "lab"}, "Did you mean 'server'?"),
    ],
)
def test_what_a_study_cannot_mean_is_told_when_it_is_checked(tmp_path: Path, model: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError) as refused:
        study_with(tmp_path, **model)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", WAYS)
async def test_people_talk_with_every_kind_of_server(tmp_path: Path, models: Server, name: str) -> None:
    """Whole sessions over each protocol, on one connection pool for each server and backend."""
    way = WAYS[name]
    server = ModelServer(url=models.base_url, key=SecretStr("sk-x"))
    study = study_with(tmp_path, backend=way.backend, options=dict(way.options), server="fake", model="tutor")
    clock = VirtualClock(1_760_000_000_000_000)
    settings = settings_for(tmp_path, servers={"fake": server})
    runtime = Runtime(open_database(f"sqlite:///{tmp_path}/parley.db"), settings, clock)
    runtime.prepare(study)
    assert len(runtime._models._backends) == 1
    before, opened = len(models.requests), models.connections
    async for _ in simulate(runtime, clock, study, 3, "s"):
        pass
    await runtime.close()
    assert len(models.requests) > before
    assert models.connections - opened == 1
