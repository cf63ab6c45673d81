"""Count our files that a message, a click and an export pass: `python -m tests.house.journeys [--list NAME]`.

Each journey is made once to warm the caches, and again under `sys.setprofile`, in threads other than the one that plays
the participant; those of a participant twice, of which the shorter counts, as what the server does by its clock may
fall into one. What counts are files, functions and calls of app, storage, experiments and problems.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.console import console
from tests.fakes.databases import export, fill
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import serve
from tests.fakes.served import serving_aside, settings_for

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / room}/" for room in ("app", "storage", "experiments", "problems"))
# Issue 49: the most files of ours that each may pass.
BARS = {"message": 50, "click": 40, "export chatbench": 50, "export tidy": 50}
SETTLE_S = 0.5


class Tracer:
    """Counts the calls of our functions while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_name != "<module>" and code.co_filename.startswith(OURS):
            self.calls[str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname] += 1

    def during(self, journey: Callable[[], object]) -> Counter[tuple[str, str]]:
        self.calls = Counter()
        self.on = True
        journey()
        time.sleep(SETTLE_S)  # for what is written behind the answer
        self.on = False
        return self.calls


def measure() -> dict[str, Counter[tuple[str, str]]]:
    """The calls of each journey by file and function."""
    tracer = Tracer()
    threading.setprofile(tracer)
    found: dict[str, Counter[tuple[str, str]]] = {}
    with TemporaryDirectory() as folder, serve() as models:
        found |= _participant(tracer, Path(folder), models.base_url)
        found |= _researcher(tracer, Path(folder))
    threading.setprofile(None)
    return found


def _participant(tracer: Tracer, folder: Path, base_url: str) -> dict[str, Counter[tuple[str, str]]]:
    asked = {"step": "survey", "id": "ask", "questions": [{"type": "short_text", "name": "word", "text": "A word?"}]}
    talk = {"step": "chat", "model": "one", "max_messages": 9}
    raw = {
        "study": "way",
        "title": "Way",
        "problems": {"pool": {"items": [{"id": "a", "question": "What?"}]}},
        "models": {"one": {"backend": "openai", "model": "gpt-fake"}},
        "flow": [asked, {**asked, "id": "more"}, {"each": "item", "of": "pool", "flow": [talk]}, {"step": "finish"}],
    }
    settings = settings_for(folder, openai_base_url=base_url, openai_api_key="sk-none")
    found: dict[str, Counter[tuple[str, str]]] = {}
    with serving_aside(settings, studies.write(folder, raw)) as served, asyncio.Runner() as runner:

        async def answer(bot: HttpBot) -> None:
            await bot.do("submit", {"word": "yes"})

        async def talk_once(bot: HttpBot) -> None:
            await bot.do("say", {"text": "one two three four five"})
            await bot.listen(view="page")
            await bot.look()

        async def begun() -> HttpBot:
            return HttpBot(served.url, "way")

        for measured in (False, True, True):
            bot = runner.run(begun())
            for name, way in (
                ("start page", lambda bot: bot.send("GET", "/s/way")),
                ("arrival", lambda bot: bot.arrive("way")),
                ("", answer),
                ("click", answer),
                ("message", talk_once),
            ):
                if measured and name:
                    calls = tracer.during(lambda way=way, bot=bot: runner.run(way(bot)))
                    found[name] = min(found.get(name, calls), calls, key=_files)
                else:
                    runner.run(way(bot))
            runner.run(bot.client.aclose())
    return found


def _researcher(tracer: Tracer, folder: Path) -> dict[str, Counter[tuple[str, str]]]:
    found: dict[str, Counter[tuple[str, str]]] = {}
    with ThreadPoolExecutor(1) as aside:
        database = open_database(f"sqlite:///{folder}/filled.db")
        aside.submit(asyncio.run, fill(database, ["chatbench"], 5, "1")).result()
        for schema in ("chatbench", "tidy"):
            for number in range(2):
                target = folder / f"{schema}-{number}"
                journey = lambda schema=schema, target=target: aside.submit(  # noqa: E731
                    export, database, "chatbench", schema, target
                ).result()
                found[f"export {schema}"] = tracer.during(journey)

        async def open_console() -> None:
            async with console(folder, database) as (_, researcher):
                await researcher.open(tab="studies")
                tracer.calls = Counter()
                await researcher.enter("monitoring", study="chatbench")

        found["console tab"] = tracer.during(lambda: aside.submit(asyncio.run, open_console()).result())
        database.dispose()
    return found


def _files(calls: Counter[tuple[str, str]]) -> int:
    return len({file for file, _ in calls})


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--list", default="", help="print the files of this journey, with their functions and calls")
    chosen = asked.parse_args().list
    found = measure()
    out = Console()
    table = Table("journey", "files", "bar", "functions", "calls")
    for name, calls in found.items():
        table.add_row(name, str(_files(calls)), str(BARS.get(name, "")), str(len(calls)), f"{calls.total():,}")
    out.print(table)
    for (file, function), count in sorted(found.get(chosen, Counter()).items()):
        out.print(f"{file}  {function}  {count:,}", highlight=False)
    return int(any(_files(found[name]) > bar for name, bar in BARS.items()))


if __name__ == "__main__":
    sys.exit(main())
