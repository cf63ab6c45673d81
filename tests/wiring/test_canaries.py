"""Blinding: a study in which every hidden thing is a canary word, and every byte that leaves is searched for them.

A word is due with the screen that shows it, and never before; models' names, right answers, plain wordings, tags,
conditions and protocols never are. The model server says its model's name in everything that it sends us.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

import pytest

from experiments.session.outcomes import COMMON
from storage.yaml_text import yaml_text
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import Server
from tests.fakes.model_server import serve as serve_models
from tests.fakes.served import Served, serving, settings_for
from tests.fakes.studies import write
from tests.wiring.reading import facts

pytestmark = pytest.mark.anyio
CANARY = re.compile(rb"zq_\w+?_qz", re.I)
QUESTIONS, THEOREMS = 6, 3
PUBLIC = ("/", "/config", "/s/blind", "/s/other", "/gradio_api/startup-events", "/gradio_api/info", "/api/reply")
ONCE = (
    "/config/", "/gradio_api/app_id", "/openapi.json", "/docs", "/healthz", "/robots.txt", "/theme.css", "/favicon.ico",
    "/parley/page.js", "/parley/page.css", "/manifest.json", "/monitoring",
)  # fmt: skip


def canary(*parts: object) -> str:
    """A word that stands for something hidden; a slug as well, so that it can be a name."""
    return "_".join(["zq", *map(str, parts), "qz"]).lower()


def question(n: int) -> dict[str, object]:
    words = {key: (canary("q", n, "option", key), canary("plain_q", n, key)) for key in "ABC"}
    options = [{"key": key, "text": text, "plain": plain} for key, (text, plain) in words.items()]
    return {
        "id": canary("id_q", n),
        "text": f"What is {canary('q', n, 'text')}?",
        "plain": canary("plain_q", n),
        "dataset": canary("dataset_q", n),
        "options": options,
        "answer": "ABC"[n % 3],
        "tags": {"right": canary("right", n), "subject": canary("subject", n % 2)},
    }


def theorem(n: int) -> dict[str, object]:
    return {
        "id": canary("id_t", n),
        "text": f"Show that {canary('t', n, 'text')}.",
        "plain": canary("plain_t", n),
        "answer": canary("answer_t", n),
        "dataset": canary("dataset_t", n),
    }


def shown_with(place: str) -> str:
    return canary("shown", place)


FLOW = [
    {
        "step": "consent",
        "title": shown_with("consent"),
        "text": shown_with("consent"),
        "checkbox": shown_with("consent"),
    },
    {
        "step": "info",
        "id": "reading",
        "pages": [shown_with("page0"), shown_with("page1")],
        "promise": shown_with("page1"),
    },
    {
        "phase": shown_with("phase"),
        "id": "part",
        "flow": [
            {
                "each": "question",
                "of": "questions",
                "where": {"subject": "{{subject}}"},
                "take": 3,
                "do": {"by": "condition", "pick": {canary("arm", n): canary("protocol", n) for n in range(2)}},
            }
        ],
    },
    {
        "each": "theorem",
        "of": "theorems",
        "take": 2,
        "vary": {"model": [canary("model", n) for n in range(2)]},
        "do": "rate-each-turn@1",
        "with": {"chat": {"max_messages": 3}},
    },
    {
        "step": "check",
        "id": "understood",
        "kind": "comprehension",
        "policy": "warn",
        "text": shown_with("understood"),
        "warning": shown_with("understood"),
        "questions": [
            {"type": "short_text", "name": name, "text": shown_with("understood")} for name in ("one", "two")
        ],
        "correct_answers": {"one": canary("right_word"), "two": [canary("right_word", n) for n in range(2)]},
    },
    {
        "step": "survey",
        "id": "after",
        "questions": [
            {
                "type": "single_choice",
                "name": "why",
                "text": shown_with("after"),
                "help": shown_with("after"),
                "options": [shown_with("after"), "Other"],
            }
        ],
    },
    {
        "step": "guess",
        "id": "which",
        "text": shown_with("which"),
        "options": {canary("key", n): f"{shown_with('which')} {n}" for n in range(2)},
        "truth": {canary("model", n): canary("key", n) for n in range(2)},
        "ask_confidence": True,
    },
    {
        "step": "finish",
        "text": shown_with("finish"),
        "code": canary("code"),
        "url": f"https://example.org/{canary('url')}",
    },
]
STUDY = {
    "study": "blind",
    "title": "A study",
    "export_schemas": ["chatbench", "mathconverse"],
    "problems": {
        "questions": {"source": "jsonl", "path": "questions.jsonl"},
        "theorems": {"source": "jsonl", "path": "theorems.jsonl"},
    },
    "models": {
        canary("model", n): {"backend": "openai", "model": canary("served", n), "system": canary("system", n)}
        for n in range(2)
    },
    "factors": {
        "condition": [canary("arm", n) for n in range(2)],
        "model": [canary("model", n) for n in range(2)],
        "subject": [canary("subject", n) for n in range(2)],
    },
    "outcomes": {name: {"code": canary("code_of", name)} for name in sorted(COMMON) if name != "complete"},
    "flow": FLOW,
}


def protocol(n: int) -> dict[str, object]:
    chat = {"step": "chat", "id": "talk", "answer": True, "min_messages": 1, "text": shown_with("talk")}
    alone = [{"step": "answer", "id": "alone", "text": shown_with("alone")}] if n else []
    return {
        "protocol": canary("protocol", n),
        "about": canary("about", n),
        "flow": [{"step": "confidence"}, *alone, chat],
    }


def blind_study(folder: Path) -> Path:
    for name, problems in {
        "questions": [question(n) for n in range(QUESTIONS)],
        "theorems": [theorem(n) for n in range(THEOREMS)],
    }.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, problems)), encoding="utf-8")
    (folder / "protocols").mkdir()
    for n in range(2):
        (folder / "protocols" / f"{n}.yaml").write_text(yaml_text(protocol(n)), encoding="utf-8")
    return write(folder, STUDY)


def due(served: Served, bot: HttpBot) -> set[str]:
    """What the present screen is there to show; the draws are read from the log, which the browser cannot."""
    path, events = bot.screen.path, facts(served.database, bot.stream)
    drawn = {e.path: e.data["items"] for e in events if e.kind == "drawn"}
    found = {shown_with(path.rpartition("/")[2])}
    if path == "reading":
        found = {shown_with(f"page{sum(e.kind == 'turned' for e in events)}")}
    for loop, items in drawn.items():
        for number, item in enumerate(items):
            if path.startswith(f"{loop}[{number}]/"):
                found |= _words_of(next(iter(item.values())))
    if path.startswith("part/"):
        found.add(shown_with("phase"))
    return found | ({canary("code")} if bot.screen.ended else set())


def _words_of(problem_id: str) -> set[str]:
    kind, number = re.fullmatch(r"zq_id_(\w)_(\d+)_qz", problem_id).groups()
    options = {canary("q", number, "option", key) for key in "ABC"} if kind == "q" else set()
    return {canary(kind, number, "text"), *options}


def seen(heard: list[bytes]) -> set[str]:
    return set[str]().union(*map(canaries_in, heard))


@cache
def canaries_in(text: bytes) -> frozenset[str]:
    """Those of one answer, which is searched once, however often all answers are."""
    return frozenset(found.decode().lower() for found in CANARY.findall(text))


@pytest.fixture(scope="module")
def models() -> Iterator[Server]:
    with serve_models() as server:
        yield server


async def look_everywhere(bot: HttpBot, public: Sequence[str]) -> None:
    """Ask everything that a curious participant could ask, of the public pages these."""
    for path in public:
        await bot.send("GET", path)
    await bot.send("POST", "/api/look", {})
    for kind, path in (("submit", "finish"), ("look", "after"), ("say", bot.screen.path), ("finish", "finish")):
        act = {"kind": kind, "path": path, "seen": bot.screen.seen + 1, "key": "curious-one"}
        await bot.send("POST", "/api/act", act)
        await bot.send("POST", "/api/act", act | {"view": "screen"})
    await bot.send("POST", "/api/draft", {"path": "finish", "values": {"code": "x"}})
    await bot.send("POST", "/api/look", {"view": "nonsense"})


async def test_only_what_is_due_leaves_the_server(tmp_path: Path, models: Server, seed: int, soak: bool) -> None:
    chance = random.Random(seed)
    print(f"seed {seed}")
    settings = settings_for(tmp_path, openai_base_url=models.base_url, openai_api_key=canary("key"))
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings, blind_study(tmp_path)))
        for number in range(2):
            bot = await stack.enter_async_context(HttpBot(served.url, f"{chance.random()}"))
            await bot.send("GET", "/")
            await bot.send("GET", "/s/blind")
            assert seen(bot.heard) == set(), "before the start"
            await bot.arrive("blind", f"?PROLIFIC_PID={canary('pid', number)}")
            told: set[str] = set()
            while True:
                told |= due(served, bot)
                await look_everywhere(bot, PUBLIC if soak else chance.sample(PUBLIC, 2))
                assert seen(bot.heard) <= told, f"at {bot.screen.path}"
                ended = any(event.kind == "finished" for event in facts(served.database, bot.stream))
                assert (canary("code") in seen(bot.heard)) == ended, "no answer has it before the log holds the end"
                if not await bot.step():
                    break
            for path in {*ONCE, *PUBLIC}:
                await bot.send("GET", path)
            assert seen(bot.heard) <= told
            assert canary("code") in seen(bot.heard)
            assert canary("url") in (await bot.client.get("/out")).headers["location"]
            assert len(told) > 12
            assert told <= seen(bot.heard) | {shown_with(word) for word in ("confidence", "before", "chat")}
        systems = {m["content"] for r in models.requests for m in r.body["messages"] if m["role"] == "system"}
        assert systems == {canary("system", 0), canary("system", 1)}, "the models were told what participants were not"
