"""Secrets are canary words; a study goes wrong in every way it can, and everything that leaves or stays is searched.

The key of a model server that refuses it, the secret that signs cookies, a recruiter's id: none is in an answer, a log
at its most talkative, an export, or the database's file.
"""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from storage.db.engine import open_database
from tests.fakes import failing
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.console_door import Browser
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import Server
from tests.fakes.served import SECRET, Process
from tests.wiring.reading import exported

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
KEY, PID = "sk-zqcanarykeyqz", "zqcanarypidqz"
SECRETS = {"the key of a model server": KEY, "the secret of cookies": SECRET, "a recruiter's id": PID}
PATHS = ("/", "/config", "/out", "/healthz", "/s/other", "/s/talk", "/openapi.json", "/gradio_api/app_id", "/api/reply")


async def go_wrong(bot: HttpBot) -> None:
    """Take part where the model refuses the key, ask what nobody should, and send what is no request."""
    await bot.arrive("talk", f"?PROLIFIC_PID={PID}&SESSION_ID={PID}")
    await bot.until(path="with_ai")
    await bot.do("say", {"text": "Hello"})
    await bot.until(failed=True)
    for path in PATHS:
        await bot.send("GET", path)
    wrong: tuple[dict[str, Any], ...] = ({"kind": 7}, {"path": [PID[:4]]}, {"values": {"x": float(10**20)}})
    for body in wrong:
        for call in ("look", "act", "draft", "telemetry"):
            await bot.send("POST", f"/api/{call}", body)
    await bot.do("submit", {"answer": "A"})


async def test_no_password_is_in_anything_that_leaves_or_stays(tmp_path: Path) -> None:
    process = Process(tmp_path, (), {"PARLEY_LOG_LEVEL": "DEBUG"}, command="console")
    wrong, answers = "zqwrongpasswordqz and more", b""
    with ada_and_bob(process.database_url):
        await asyncio.to_thread(process.start)
        try:
            async with httpx2.AsyncClient(timeout=60, base_url=process.url, headers={"origin": process.url}) as client:
                visitor = Browser(client)
                for name, password in (("ada", wrong), (wrong, GOOD), ("ada", GOOD)):
                    answers += (await visitor.log_in(name, password)).content
                token = client.cookies["parley-console"]
                for path in (
                    "/",
                    "/config",
                    "/report/x",
                    "/download/x",
                    "/welcome/x",
                    "/gradio_api/info",
                    "/console/x",
                ):
                    answers += (await visitor.get(path)).content
                answers += (await visitor.send("/gradio_api/run/predict", {"fn_index": GOOD})).content
            await asyncio.to_thread(process.stop)
        finally:
            process.kill()
    told = {"answers": answers.replace(f'value="{wrong}"'.encode(), b""), "the log": process.log.encode()}
    told |= {path.name: path.read_bytes() for path in tmp_path.glob("parley.db*")}
    secrets = {"a password": GOOD, "a wrong password": wrong, "a login's token": token, "the secret of cookies": SECRET}
    found = [
        f"{name} in {where}" for where, text in told.items() for name, one in secrets.items() if one.encode() in text
    ]
    assert found == []


async def test_no_secret_is_in_anything_that_leaves_or_stays(tmp_path: Path, models: Server) -> None:
    env = {
        "PARLEY_OPENAI_API_KEY": KEY,
        "PARLEY_OPENAI_BASE_URL": models.base_url,
        "PARLEY_LOG_LEVEL": "DEBUG",
        "PARLEY_MODEL_ATTEMPTS": "1",
        "OPENAI_LOG": "debug",
    }
    study = failing.talk(tmp_path, "talk", {"only": failing.model("401")})
    process = Process(tmp_path, (study,), env)
    await asyncio.to_thread(process.start)
    try:
        async with HttpBot(process.url, "secrets") as bot:
            await go_wrong(bot)
            answers = b"\n".join(bot.heard).decode("utf-8", "replace")
        await asyncio.to_thread(process.stop)
    finally:
        process.kill()
    assert any(KEY in str(request) for request in models.requests), "the key was used"
    database = open_database(process.database_url)
    told = {"answers": answers, "the log": process.log, "an export": exported(database, "talk", tmp_path / "out")}
    database.dispose()
    for path in tmp_path.glob("parley.db*"):
        told[path.name] = path.read_bytes().decode("latin-1")
    found = [f"{name} in {where}" for where, text in told.items() for name, secret in SECRETS.items() if secret in text]
    assert found == []
    assert "401" in told["the log"] or "refused" in told["the log"], "the log tells what went wrong"
