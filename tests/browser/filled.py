"""A console with something in every room: simulated sessions of the demo, links without an id, a draft, and a study
that can be recruited at the fake of Prolific.

It is behind its login.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.session.service import SessionService
from app.studies.drafts import Drafts
from app.studies.loader import load_study
from app.use_cases.recruit import decide
from storage.db.engine import open_database
from storage.registers.link_problems import count_link_problem
from storage.registers.study_versions import publish, publish_on_start
from tests.fakes import studies
from tests.fakes.accounts import ada_and_bob
from tests.fakes.prolific_api import TOKEN, prolific_api
from tests.fakes.served import Process, settings_for

STUDY, DRAFT, RECRUITED = "demo", "morning", "recruited"
SESSIONS = 6


@contextmanager
def filled(folder: Path) -> Iterator[Process]:
    """Serve it until the block ends."""
    with prolific_api() as fake:
        env = {
            "PARLEY_PROLIFIC_URL": fake.url,
            "PARLEY_PROLIFIC_TOKEN": TOKEN,
            "PARLEY_PUBLIC_URL": "https://a.example",
        }
        yield from _console(folder, env)


def _console(folder: Path, env: dict[str, str]) -> Iterator[Process]:
    console = Process(folder, (), env, command="console")
    filling = Thread(target=lambda: asyncio.run(_fill(folder, console.database_url)))
    filling.start()  # Playwright's loop runs in this one
    filling.join()
    Drafts(folder / "studies").create(DRAFT, STUDY)
    with ada_and_bob(console.database_url):
        console.start()
        yield console
        console.stop()
    assert "Traceback" not in console.log


async def _fill(folder: Path, url: str) -> None:
    database, clock, study = open_database(url), VirtualClock(START_US), load_study(STUDY)
    runtime = SessionService(database, settings_for(folder), clock)
    publish_on_start(database, study, at_us=START_US)
    runtime.prepare(study)
    async for _ in simulate(runtime, clock, study, SESSIONS, "filled"):
        pass
    recruited = load_study(str(studies.recruited(folder)))
    publish(database, recruited, by="researcher", at_us=START_US)
    decide(database, recruited.name, "opened", "Ada", clock)
    for number, reason in enumerate(("unfilled", "unknown", "missing")):
        count_link_problem(database, STUDY, reason, "PROLIFIC_PID" * (number < 1), START_US, started=bool(number % 2))
    await runtime.close()
    database.dispose()
