r"""Replies beyond all measure: without end, a megabyte long, ten thousand words of formulas.

One participant is given such a reply; meanwhile another's whole chat goes through. The first reads a calm sentence and
may ask again, or has every word where the settings allow so many; the log holds it once, and what is kept is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from app.rendering import markdown
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.latex import BROKEN, latex
from tests.fakes.model_faults import WORDS
from tests.fakes.model_server import Server, serve
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.nightly]
MOST = 20_000
ENDLESS = ("flood", "endless-event", "endless-lines")
RUNAWAY = (*ENDLESS, "megabyte", "megabyte-in-pieces", "more-than-a-megabyte", "latex")
CALM = "No reply could be generated. Your message is saved."


@pytest.fixture(scope="module")
def models() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture(scope="module", params=[MOST, 4 * MOST], ids=["usual", "generous"])
async def served_with(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, models: Server
) -> AsyncIterator[tuple[Served, int]]:
    """A study for each extreme reply and one whose model is sound."""
    folder = tmp_path_factory.mktemp("extremes")
    settings = settings_for(
        folder, openai_base_url=models.base_url, openai_api_key="sk-x", max_reply_chars=request.param,
        breaker_failures=1_000,
    )  # fmt: skip
    made = [
        studies.chat(folder, name, backend="openai", options={}, model=f"fault:{name}")
        for name in (*RUNAWAY, "latex-broken")
    ]
    sound = studies.chat(folder, "sound", backend="openai", options={}, model="tutor")
    async with serving(settings, sound, *made) as served:
        yield served, request.param


async def arrived(url: str, study: str) -> HttpBot:
    """Somebody at the chat of a study."""
    bot = HttpBot(url, study)
    await bot.arrive(study)
    await bot.until(path="with_ai")
    return bot


async def whole_chat(served: Served) -> HttpBot:
    """Somebody else, from the first click to the last."""
    async with HttpBot(served.url, "neighbour") as bot:
        await bot.arrive("sound")
        await bot.finish()
    return bot


@pytest.mark.parametrize("study", [*RUNAWAY, "latex-broken"])
async def test_an_extreme_reply_harms_nobody(served_with: tuple[Served, int], models: Server, study: str) -> None:
    served, most = served_with
    sound = {"latex-broken"} | ({"latex"} if most > MOST else set())
    async with await arrived(served.url, study) as bot:
        asked = len(models.requests)
        await bot.do("say", {"text": "Prove it"})
        listener = asyncio.create_task(bot.listen())
        neighbour = await asyncio.wait_for(whole_chat(served), 60)
        assert "replied" in [fact.kind for fact in facts(served.database, neighbour.stream)]
        assert neighbour.screen.ended
        heard = await listener
        await bot.until(waiting=False)
        chat = bot.screen.panel.chat
        assert chat is not None
        kinds = [fact.kind for fact in facts(served.database, bot.stream) if fact.path.endswith("with_ai")]
        if study in sound:
            assert kinds == ["said", "replied"]
            assert chat.messages[-1].text == said_by(study)
            assert heard.text.strip() in ("", said_by(study)), "nothing, if it was there before one listened"
        else:
            assert kinds == ["said", "failed"]
            assert (chat.failed, len(chat.messages)) == (CALM, 1)
            assert "retry" in bot.screen.actions
            assert len([one for one in models.requests[asked:] if one.body["model"] == f"fault:{study}"]) == 2
        kept = query(served.database, "SELECT max(length(text)), max(length(cause)) FROM attempt")
        assert kept[0][0] <= most
        assert kept[0][1] < 1_000
        await bot.do("submit", {"answer": "A"})
        assert bot.screen.ended


def said_by(study: str) -> str:
    """The whole of a sound reply."""
    broken = "\n\n".join(text[:1_500] for text in BROKEN.values())
    return (latex(WORDS) if study == "latex" else broken).strip()


def test_broken_formulas_are_shown_in_no_more_than_some_times_their_length() -> None:
    for name, text in BROKEN.items():
        assert 0 < len(markdown.html(text, authored=False, dollars=True)) < 10 * len(text), name
