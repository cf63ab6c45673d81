"""A study names model servers, the deployment has them: what is missing is told before anybody comes."""

from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from app.config.model_servers import Server as ModelServer
from app.errors import SettingsError
from app.session.service import SessionService
from app.studies.loader import load_study
from experiments.errors import StudyError
from experiments.study.study import Study
from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.served import settings_for

pytestmark = pytest.mark.anyio


def study_with(folder: Path, **model: Any) -> Study:
    return load_study(str(studies.chat(folder, **{"options": {}, **model})))


def runtime_with(folder: Path, **settings: Any) -> SessionService:
    database = open_database(f"sqlite:///{folder}/parley.db")
    return SessionService(database, settings_for(folder, **settings), VirtualClock(0))


async def test_a_server_that_the_deployment_does_not_have_is_told_at_the_start(tmp_path: Path) -> None:
    servers = {"gpu-lab": ModelServer(url="http://127.0.0.1:9/v1"), "azure": ModelServer(url="https://a.example")}
    runtime = runtime_with(tmp_path, model_servers=servers)
    with pytest.raises(
        SettingsError,
        match=r"'gpu-lib': PARLEY_MODEL_SERVERS and the console have gpu-lab, azure. Did you mean 'gpu-lab'",
    ):
        runtime.prepare(study_with(tmp_path, backend="openai", server="gpu-lib"))
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
