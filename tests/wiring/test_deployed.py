"""What a Space would run, run here: Caddy, participants' server and console behind one port; and its disk is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from app.config.settings import Settings
from tests.fakes.deployed import moved, running
from tests.fakes.http_bot import HttpBot
from tests.fakes.postgres import fresh
from tests.fakes.served import FAST, SECRET
from tests.wiring.test_deploy import URL, planned, settings_in, written

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.nightly]
CANARY = "zq7b1c44e9"
SOMEBODY = "93.184.216.34"
"""An address of the internet, as the host's proxy writes it behind what the browser claims."""


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
async def test_a_session_goes_on_after_the_disk_was_lost(
    kind: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings = Settings(_env_file=None, public_url=URL, **FAST)
    written(tmp_path / "written", planned("huggingface", kind, settings))
    data = tmp_path / "data"
    here, port, env = moved(tmp_path / "written", tmp_path / "here", data)
    url = f"http://127.0.0.1:{port}"
    env = {**settings_in(here, "huggingface"), **env, "PARLEY_SECRET": SECRET, "PARLEY_PUBLIC_URL": url}
    env |= {"PARLEY_CONSOLE_URL": f"{url}/console", "PARLEY_STUDIES_DIR": str(data / "studies")}
    if kind == "sqlite":
        env |= {"PARLEY_DATABASE_URL": f"sqlite:///{data}/parley.db", "REPLICA_URL": f"file://{tmp_path}/replica"}
    else:
        server = request.getfixturevalue("postgres_server")
        env |= {"PARLEY_DATABASE_URL": fresh(server, f"parley_{uuid4().hex}")}
    async with HttpBot(url, "someone") as bot:
        data.mkdir(mode=0o700)
        with running(here, port, env) as deployed:
            console = httpx2.get(f"{url}/console", follow_redirects=True, timeout=60)
            assert (str(console.url), console.status_code) == (f"{url}/console/login", 200)
            assert "Password" in console.text
            for claimed in ("", "127.0.0.1, ", "10.0.0.5, 10.0.0.6, ", "nonsense, "):
                forwarded = {"x-forwarded-for": f"{claimed}{SOMEBODY}"}
                outside = httpx2.get(f"{url}/healthz/ready", headers=forwarded, timeout=60)
                assert outside.status_code == 404, "only the host itself learns how it is"
            await bot.arrive("demo", f"?PROLIFIC_PID={CANARY}")
            await bot.until(path="chat")
            before = bot.screen.seen
        shutil.rmtree(data)
        data.mkdir(mode=0o700)
        with running(here, port, env):
            await bot.look()
            assert bot.screen.seen == before, "a stop in order loses nothing, not even the last second"
            await bot.finish()
            assert bot.screen.outcome == "complete"
    log = deployed.log.read_text(encoding="utf-8")
    assert f"{url}/console/welcome/" in log
    assert CANARY not in log
    assert SOMEBODY not in log


async def test_the_whole_container_ends_where_one_part_of_it_does(tmp_path: Path) -> None:
    written(tmp_path / "written", planned("huggingface", "sqlite"))
    here, port, env = moved(tmp_path / "written", tmp_path / "here", tmp_path / "data")
    (tmp_path / "data").mkdir()
    (here / "litestream.yml").unlink()  # so it cannot restore, and must not begin an empty database in its place
    with pytest.raises(RuntimeError, match="did not come up"), running(here, port, {**env, "PARLEY_SECRET": SECRET}):
        pass
    assert not (tmp_path / "data/parley.db").exists()
