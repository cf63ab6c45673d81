"""Model servers that fail, connections that break, a server that stops: nothing is lost, and nobody reads an error."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from app.bots.random_bot import RandomBot
from app.clock import WorldClock
from app.errors import SettingsError
from app.library import load_study
from app.runtime import Runtime
from storage.engine import open_database
from tests.fakes import studies
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.model_server import Server
from tests.fakes.model_server import serve as serve_models
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import facts

pytestmark = pytest.mark.anyio
SHORT = {
    "first_token_timeout_s": 1,
    "token_gap_timeout_s": 1,
    "reply_timeout_s": 3,
    "max_reply_chars": 3_000,
    "model_tries": 1,
    "breaker_failures": 1_000,
}
FAULTS = (
    "401", "429", "500", "drop", "no-finish", "empty", "malformed", "hang", "hang-midway", "html", "flood",
    "content-filter",
)  # fmt: skip
SECRETS = (
    b"Incorrect API key",
    b"sk-",
    b"boom",
    b"Rate limit",
    b'"reason"',
    b'"cause"',
    b"timeout_",
    b"PARLEY_",
    b"Traceback",
    b"Hel",
)


@pytest.fixture(scope="module")
def models() -> Iterator[Server]:
    with serve_models() as server:
        yield server


async def talker(stack: AsyncExitStack, served: Served, study: str = "talk") -> HttpBot:
    """Somebody who has come to the chat."""
    bot = await stack.enter_async_context(HttpBot(served.url, "talker"))
    await bot.arrive(study)
    await bot.until(path="with_ai")
    return bot


@pytest.fixture(scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory, models: Server) -> AsyncIterator[Served]:
    """A study for each fault."""
    folder = tmp_path_factory.mktemp("faulty")
    settings = settings_for(folder, openai_base_url=models.base_url, openai_api_key="sk-test-key", **SHORT)
    files = [
        studies.chat(folder, f"fault-{fault}", backend="openai", options={}, model=f"fault:{fault}") for fault in FAULTS
    ]
    async with serving(settings, *files) as served:
        yield served


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_reply_that_fails_is_said_to_have_failed(faulty: Served, models: Server, fault: str) -> None:
    async with AsyncExitStack() as stack:
        bot = await talker(stack, faulty, f"fault-{fault}")
        for attempt in (1, 2):
            asked = len(models.requests)
            await (bot.do("say", {"text": "Good day"}) if attempt == 1 else bot.do("retry", {}))
            await bot.until(waiting=False)
            await bot.send("POST", "/api/look", {})
            chat = bot.screen.panel.chat
            assert chat
            assert chat.failed
            assert [message.text for message in chat.messages] == ["Good day"], "no part of a reply is shown as one"
            assert "retry" in bot.screen.actions
            failed = facts(faulty.database, bot.stream)[-1]
            assert (failed.kind, failed.data["model"]) == ("failed", "only")
            assert failed.data["reason"]
            assert len(models.requests) == asked + 1
        told = b"".join(bot.heard)
        allowed = {b"Hel"} if fault in ("drop", "no-finish", "malformed", "hang-midway", "content-filter") else set()
        assert {word for word in SECRETS if word in told} <= allowed, "words stream in before they are known to fail"
        await bot.do("submit", {"answer": "A"})
        assert bot.screen.ended, "a participant is not held by a model that fails"


async def test_a_retry_that_succeeds_goes_on_as_if_nothing_had_been(tmp_path: Path, models: Server) -> None:
    """The model server is away at first: nothing listens at its address."""
    study = studies.chat(tmp_path, backend="openai", options={}, model="tutor")
    async with AsyncExitStack() as stack:
        away = settings_for(tmp_path, openai_base_url="http://127.0.0.1:9/v1", openai_api_key="sk-x", **SHORT)
        async with serving(away, study) as served:
            bot = await talker(stack, served)
            await bot.do("say", {"text": "Hello"})
            await bot.until(failed=True)
        back = settings_for(tmp_path, openai_base_url=models.base_url, openai_api_key="sk-x", **SHORT)
        served = await stack.enter_async_context(serving(back, study))
        bot.client.base_url = served.url
        assert (await bot.look()).panel.chat.failed
        await bot.do("retry", {})
        await bot.until(waiting=False, failed=False)
        assert [e.kind for e in facts(served.database, bot.stream)][-4:] == ["said", "failed", "retried", "replied"]
        assert [m["content"] for m in models.requests[-1].body["messages"] if m["role"] != "system"] == ["Hello"]
        await bot.finish()


async def test_a_server_does_not_start_without_a_models_key(tmp_path: Path) -> None:
    study = studies.chat(tmp_path, backend="openai", options={}, model="tutor")
    with pytest.raises(SettingsError, match="PARLEY_OPENAI_API_KEY"):
        async with serving(settings_for(tmp_path), study):
            pass


async def test_a_model_without_its_key_fails_and_holds_nobody(tmp_path: Path) -> None:
    """A session under an older study whose key is gone: recorded as the failure that it is."""
    study = load_study(str(studies.chat(tmp_path, backend="openai", options={}, model="tutor")))
    runtime = Runtime(open_database(f"sqlite:///{tmp_path}/parley.db"), settings_for(tmp_path), WorldClock())
    runtime.studies.register(study)
    live = await runtime.enrol(study, origin="bot")
    bot = RandomBot("1")
    while not any(event.kind == "failed" for event in live.state.events):
        await runtime.settled(live.stream)
        live = await runtime.live(live.stream) or live
        kind, values = bot.act(live.screen)
        if kind == "retry":
            break
        live = await runtime.participant(live.stream, kind, live.screen.path, values, seen=live.screen.seen)
    failed = next(event for event in live.state.events if event.kind == "failed")
    assert failed.data["reason"] == "settings"
    assert live.screen.panel.chat is not None
    assert live.screen.panel.chat.failed
    await runtime.close()


async def test_a_reply_cut_by_a_shutdown_is_owed_and_given(tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 0, "pace_ms": 20})
    async with AsyncExitStack() as stack:
        async with serving(settings_for(tmp_path), study) as served:
            bot = await talker(stack, served)
            await bot.do("say", {"text": "Please explain the Pythagorean theorem."})
        served = await stack.enter_async_context(serving(settings_for(tmp_path), study))
        assert facts(served.database, bot.stream)[-1].kind == "said"
        bot.client.base_url = served.url
        assert (await bot.look()).panel.chat.waiting
        reply = await bot.listen()
        await bot.look()
        last = facts(served.database, bot.stream)[-1]
        assert (last.kind, last.data["text"]) == ("replied", reply.text.strip())


async def listen_some(bot: HttpBot, offset: int, pieces: int) -> Heard:
    """Listen on from an offset, and hang up after so many pieces."""
    heard = Heard(offset=offset)
    async with bot.client.stream("GET", "/api/reply", params={"offset": offset}) as response:
        async for line in response.aiter_lines():
            take(line, heard)
            pieces -= line.startswith("data: ")
            if not pieces or heard.done:
                break
    return heard


async def test_a_stream_is_read_on_from_where_it_broke(tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 0, "pace_ms": 10})
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings_for(tmp_path), study))
        bot = await talker(stack, served)
        await bot.do("say", {"text": "Please explain the Pythagorean theorem."})
        parts = [await listen_some(bot, 0, 1)]
        while not parts[-1].done:
            assert len(parts) < 100
            parts.append(await listen_some(bot, parts[-1].offset, 2))
        assert len(parts) > 2
        (reply,) = (e for e in facts(served.database, bot.stream) if e.kind == "replied")
        assert "".join(part.text for part in parts).strip() == reply.data["text"]


async def test_two_listeners_hear_the_same_and_the_model_is_asked_once(tmp_path: Path, models: Server) -> None:
    settings = settings_for(tmp_path, openai_base_url=models.base_url, openai_api_key="sk-x")
    study = studies.chat(tmp_path, backend="openai", options={}, model="tutor")
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings, study))
        bot = await talker(stack, served)
        asked = len(models.requests)
        text = "word " * 300
        cookies = dict(bot.client.cookies)
        tabs = [
            await stack.enter_async_context(httpx2.AsyncClient(base_url=served.url, cookies=cookies)) for _ in range(5)
        ]
        await bot.do("say", {"text": text})
        looks = [tab.post("/api/look", json={}) for tab in tabs for _ in range(4)]
        heard = await asyncio.gather(*(bot.listen() for _ in range(5)), *looks)
        await bot.look()
        told = {reply.text for reply in heard[:5] if reply.text}
        (reply,) = (e for e in facts(served.database, bot.stream) if e.kind == "replied")
        assert {one.strip() for one in told} == {reply.data["text"]}
        assert len(models.requests) == asked + 1
