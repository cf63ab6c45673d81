"""A study in several languages over HTTP: what is offered, what is chosen, and that nothing stays in English."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.i18n.catalogues import Catalogue, catalogue, catalogues
from app.studies.loader import STUDIES, load_study, read_yaml
from experiments.errors import NOT_OFFERED
from experiments.session.engine import STALE
from experiments.views.translatable_texts import WORD, normalize_whitespace, texts_of
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for, ticket
from tests.fakes.sessions import STUDIES as FOR_TESTS
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
OTHERS = sorted(set(catalogues()) - {"en"})
# Words that a problem's option may be as well.
SHORT = frozenset({"No", "Yes"})
NAME = re.compile(r"\{+[^{}]+\}+")


def polyglot(folder: Path, path: Path, **more: Any) -> Path:
    """A study in every language that there is, with a tutor who answers at once."""
    raw = read_yaml(path) | {"languages": list(catalogues()), **more}
    for model in raw["models"].values():
        model["options"] = {**model.get("options", {}), "first_ms": 0, "pace_ms": 0}
    raw["translations"] = {tag: str(STUDIES / name) for tag, name in raw.get("translations", {}).items()}
    return studies.write(folder, raw)


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("languages")
    paths = [STUDIES / "demo.yaml", FOR_TESTS / "everything.yaml"]
    made = [polyglot(folder, path) for path in paths]
    async with serving(settings_for(folder), *made, studies.short(folder)) as served:
        yield served


def english(tag: str, *more: str) -> re.Pattern[str]:
    """Any whole text that is in English and could be said in this language."""
    words = catalogue(tag).words
    texts = {text for text, told in words.items() if text != told and WORD.search(NAME.sub("", text))} - SHORT
    plain = [re.sub(r"\*+|`", "", normalize_whitespace(text)) for text in (*texts, *more)]
    return re.compile("|".join(r"\S+".join(map(re.escape, NAME.split(text))) for text in plain))


def read(painting: Mapping[str, Any]) -> Iterator[str]:
    yield from (painting["note"], *painting["faults"].values())
    yield from painting["words"].values()
    for update in painting["updates"].values():
        yield from (str(update.get(name, "")) for name in ("label", "placeholder"))
        html = str(update.get("value", ""))
        yield from re.findall(r'aria-(?:label|valuetext)="([^"]*)"', html)
        running = re.sub(r"</?(?:strong|em|code|a)\b[^>]*>", "", html)
        yield from re.split(r"<[^>]*>", running)


def left_in_english(painting: Mapping[str, Any], texts: re.Pattern[str]) -> list[str]:
    """The texts of a painting that should have been translated."""
    return [text for text in map(normalize_whitespace, map(unescape, read(painting))) if texts.fullmatch(text)]


@pytest.mark.parametrize(
    ("study", "tag"),
    [
        pytest.param(study, tag, marks=() if OTHERS.index(tag) == number % len(OTHERS) else pytest.mark.soak)
        for number, study in enumerate(("demo", "everything"))
        for tag in OTHERS
    ],
)
async def test_nothing_of_a_session_stays_in_english(served: Served, study: str, tag: str) -> None:
    demo = load_study("demo")
    own = [text for text in texts_of(demo) if demo.translate(text, tag) != text] if study == "demo" else []
    texts = english(tag, *own)
    async with HttpBot(served.url, f"{study}{tag}") as bot:
        await bot.arrive(study, f"?lang={tag}")
        met, more = set(), True
        while more:
            painting = (await bot.send("POST", "/api/look", {})).json()
            assert left_in_english(painting, texts) == [], bot.screen.path
            assert (painting["lang"], painting["dir"]) == (tag, catalogue(tag).direction)
            assert not re.search(r"\d+ of \d+</label>", str(painting["updates"]["head"]["value"]))
            met.add(painting["layout"])
            more = await bot.step()
        assert len(met) > 1
        assert bot.screen.panel.title


@pytest.mark.parametrize("tag", OTHERS)
async def test_refusals_are_told_in_the_sessions_language(served: Served, tag: str) -> None:
    say = catalogue(tag)
    async with HttpBot(served.url, tag) as bot:
        await bot.arrive("demo", f"?lang={tag}")
        refused = await bot.do("submit", {})
        assert (refused.note, refused.faults) == (
            say("Some answers are missing or need to be changed."),
            {"agreed": say("Please answer this question.")},
        )
        assert (await bot.do("dance", {})).note == say(NOT_OFFERED)
        assert (await bot.do("submit", {}, seen=0)).note == say(STALE)


@pytest.mark.parametrize(("accepts", "query_", "chosen"), [
    ("", "", "en"),
    ("de-AT,de;q=0.9,en;q=0.5", "", "de"),
    ("de", "?lang=ar", "ar"),
    ("ar", "?lang=tlh", "ar"),
    ("tlh", "?pid=somebody", "en"),
])  # fmt: skip
async def test_the_start_page_is_in_the_language_of_the_link_or_the_browser(
    served: Served, accepts: str, query_: str, chosen: str
) -> None:
    say: Catalogue = catalogue(chosen)
    async with httpx2.AsyncClient(timeout=60, base_url=served.url, headers={"accept-language": accepts}) as client:
        page = (await client.get(f"/s/demo{query_}")).text
        assert f'<html lang="{chosen}" dir="{say.direction}">' in page
        assert re.search(r"<button>(.*)</button>", page)[1] == say("Start")
        links = re.findall(r'<a href="([^"]*)" lang="(\w+)"[^>]*dir="(\w+)"( aria-current="true")?>(.*)</a>', page)
        assert [(tag, name) for _, tag, _, _, name in links] == [(tag, catalogues()[tag].name) for tag in catalogues()]
        assert [tag for _, tag, _, now, _ in links if now] == [chosen]
        assert all(("pid=somebody" in link) == ("pid" in query_) for link, *_ in links)
        form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
        assert form["language"] == chosen
        await client.post("/s/demo", data=form)
        assert (await client.post("/api/look", json={})).json()["lang"] == chosen


async def test_what_was_chosen_is_a_fact_and_holds_for_the_session(served: Served) -> None:
    async with HttpBot(served.url, "holds") as bot:
        await bot.client.post("/s/demo", data=ticket("demo", language="ar"))
        await bot.look()
        again = (await bot.send("GET", "/s/demo?lang=de")).text
        assert '<html lang="ar" dir="rtl">' in again
        assert "hreflang" not in again
        facts = "SELECT data FROM event WHERE kind = 'enrolled' AND stream = :stream"
        assert '"language":"ar"' in str(query(served.database, facts, stream=bot.stream)).replace(" ", "")
