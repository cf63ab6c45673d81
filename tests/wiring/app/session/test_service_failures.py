"""Model servers that fail, connections that break, a server that stops: nothing is lost, and nobody reads an error."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import Server
from tests.fakes.model_server import serve as serve_models
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import check_sound, facts

pytestmark = [pytest.mark.anyio, pytest.mark.nightly]
PATIENT = {
    "first_token_timeout_s": 60,
    "token_gap_timeout_s": 5,  # only the server that hangs may reach it, on a busy machine too
    "reply_timeout_s": 120,
    "max_reply_chars": 3_000,
    "model_attempts": 1,
    "breaker_failures": 1_000,
}
FAULTS = ("401", "500", "drop", "no-finish", "malformed", "hang-midway", "html", "content-filter")
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
    bot = await stack.enter_async_context(HttpBot(served.url, "talker"))
    await bot.arrive(study)
    await bot.until(path="with_ai")
    return bot


@pytest.fixture(scope="module")
async def faulty(tmp_path_factory: pytest.TempPathFactory, models: Server) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("faulty")
    settings = settings_for(folder, openai_base_url=models.base_url, openai_api_key="sk-test-key", **PATIENT)
    files = [
        studies.chat(folder, f"fault-{fault}", backend="openai", options={}, model=f"fault:{fault}") for fault in FAULTS
    ]
    async with serving(settings, *files) as served:
        yield served


async def test_replies_that_fail_are_said_to_have_failed_and_none_is_lost_or_doubled(
    faulty: Served, models: Server
) -> None:
    await asyncio.gather(*(fails(faulty, models, fault) for fault in FAULTS))
    check_sound(faulty.database)


def asked(models: Server, fault: str) -> int:
    return sum(request.body["model"] == f"fault:{fault}" for request in models.requests)


async def fails(faulty: Served, models: Server, fault: str) -> None:
    """Say something to it, and try again: with other words, if it was the message that was refused."""
    refused = fault == "content-filter"
    async with AsyncExitStack() as stack:
        bot = await talker(stack, faulty, f"fault-{fault}")
        for attempt in (1, 2):
            again = attempt == 2 and not refused
            await (bot.do("retry", {}) if again else bot.do("say", {"text": f"Good day {attempt}"}))
            await bot.until(waiting=False)
            await bot.send("POST", "/api/look", {})
            chat = bot.screen.panel.chat
            assert chat
            assert chat.failed
            sent = ["Good day 1", "Good day 2"][: attempt if refused else 1]
            read = ["Hel"] if fault == "hang-midway" else []  # of the others nothing was shown yet
            assert [message.text for message in chat.messages] == sent + read
            assert ("retry" in bot.screen.actions, "say" in bot.screen.actions) == (not refused, refused)
            *_, before, failed = facts(faulty.database, bot.stream)
            assert (before.kind, failed.kind) == ("retried" if again else "said", "failed")
            assert (failed.data["model"], bool(failed.data["reason"])) == ("only", True)
            assert asked(models, fault) == attempt
        told = b"".join(bot.heard)
        allowed = {b"Hel"} if fault in ("drop", "no-finish", "malformed", "hang-midway", "content-filter") else set()
        assert {word for word in SECRETS if word in told} <= allowed, "words stream in before they are known to fail"
        await bot.do("submit", {"answer": "A"})
        assert bot.screen.ended, "a participant is not held by a model that fails"
