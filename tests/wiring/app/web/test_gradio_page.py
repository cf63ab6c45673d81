"""Gradio behind the gates: it hears nothing that a visitor makes up, keeps nothing of anybody, and starts nothing."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Iterator

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from app.web.gradio_page import gradio_page
from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.console import console
from tests.fakes.http_bot import HttpBot
from tests.fakes.researcher import Researcher
from tests.fakes.served import serving, settings_for

pytestmark = pytest.mark.anyio
MADE_UP = (
    ("/?page=other", {}),
    ("/?deep_link=0123456789abcdef0123456789abcdef", {}),
    ("/?__theme=dark&view=api", {}),
    ("/", {"x-forwarded-host": "evil.example", "x-forwarded-proto": "gopher"}),
    ("/", {"accept-encoding": "br, gzip"}),
    ("/", {"authorization": "Bearer x", "x-gradio-server": "http://evil.example"}),
    ("/", {"range": "bytes=0-10", "if-none-match": "*"}),
)


@pytest.fixture(scope="module")
async def resident(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HttpBot]:
    folder = tmp_path_factory.mktemp("resident")
    async with serving(settings_for(folder), studies.short(folder)) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("short")
        yield bot


@pytest.fixture(scope="module")
async def researcher(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Researcher]:
    folder = tmp_path_factory.mktemp("researcher")
    database = open_database(f"sqlite:///{folder}/parley.db")
    async with console(folder, database) as (_, found):
        await found.open()
        yield found
    database.dispose()


def without_nonces(page: str) -> str:
    return re.sub(r'nonce="[\w-]+"', "", page)


async def test_a_page_is_the_same_whatever_is_made_up(resident: HttpBot, researcher: Researcher) -> None:
    for path, headers in MADE_UP:
        plain = await resident.client.get("/", headers={"accept-encoding": "identity"})
        answer = await resident.client.get(path, headers=headers)
        assert (plain.status_code, answer.status_code) == (200, 200)
        assert without_nonces(answer.text) == without_nonces(plain.text), (path, headers)
        plain, answer = await researcher.send("GET", "/"), await researcher.send("GET", path, headers=headers)
        assert (answer.status_code, answer.text) == (200, plain.text), (path, headers)


async def test_a_host_that_is_none_is_no_failure(resident: HttpBot) -> None:
    for host in ("a b", "é", "a:b", "[::1", "<script>", "x" * 2_000, ""):
        answer = await resident.client.get("/", headers={"host": host.encode()})
        assert answer.status_code in (200, 400), host
        assert "<script>;" not in answer.text


def sessions_kept() -> int:
    gc.collect()
    return sum(isinstance(one, SessionState) for one in gc.get_objects())


@pytest.mark.nightly
async def test_nothing_is_kept_of_pages_that_are_opened_and_left(researcher: Researcher) -> None:
    before = sessions_kept()
    for number in range(3):
        researcher.page = f"abandoned{number}"
        await researcher.open()
    assert sessions_kept() <= before


def test_no_event_describes_all_components_of_its_page() -> None:
    with gr.Blocks() as blocks:
        gr.Button()
    gradio_page(blocks, "")
    assert not any(SessionState(blocks).config_values.values())


def of_gradio() -> Iterator[str]:
    for task in asyncio.all_tasks():
        if "gradio" in str(task.get_coro()):
            yield str(task)


async def test_no_queue_is_watched(researcher: Researcher, resident: HttpBot) -> None:
    for path in ("/gradio_api/startup-events", "/gradio_api/queue/join", "/gradio_api/queue/data?session_hash=x"):
        assert (await resident.client.get(path)).status_code == 404
    await resident.client.get("/")
    await researcher.open()
    assert list(of_gradio()) == []
