"""The surroundings of a participant's life: a study with every way to end, and servers over one database that
restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import func, select
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from app.clock import Clock
from app.session.service import SessionService
from app.session.signed_links import RehearsalLinks, Tickets, TrialLinks
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from app.web.open_studies import OpenStudies
from app.web.participant.api import ParticipantApi
from app.web.participant.prolific_tokens import ProlificTokens
from app.web.participant.recruiter_links import Links
from app.web.participant.session_cookie import SessionCookie
from app.web.participant.start_page import StartPage
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.registers.participants import Participants
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import SECRET, settings_for

NAME, URL = "life", "http://parley.test"
LIMIT_S, AWAY_S, LEASE_S = 6 * 3600, 3600, 600
# The code of each outcome that this study can have.
CODES = {
    "complete": "DONE",
    "screened_out": "OUT",
    "failed_attention": "CARE",
    "no_consent": "NO",
    "timed_out": "LATE",
    "withdrawn": "GONE",
}
YES_NO = {"type": "single_choice", "options": ["yes", "no", "yes indeed", "surely"]}
WELL = ["yes", "yes indeed", "surely"]
ITEMS = [
    {"id": f"q{n}", "text": f"What is {n}?", "answer": "A", "options": [{"key": k, "text": k} for k in "AB"]}
    for n in range(6)
]
FLOW: list[dict[str, Any]] = [
    {"step": "consent", "text": "Do you agree?"},
    {"step": "check", "id": "suited", "kind": "screening", "questions": [{**YES_NO, "name": "adult", "text": "Adult?"}]}
    | {"correct_answers": {"adult": WELL}},
    {"step": "info", "id": "rules", "text": "Read this.", "min_time_s": 5},
    {"step": "check", "id": "clear", "kind": "comprehension", "attempts": 2}
    | {"questions": [{**YES_NO, "name": "clear", "text": "Clear?"}], "correct_answers": {"clear": WELL}},
    {"step": "survey", "id": "quick", "time_limit": {"after_s": 60, "on_expiry": "continue"}}
    | {"questions": [{"type": "long_text", "name": "thought", "text": "A thought?"}]},
    {
        "each": "question",
        "of": "items",
        "take": 2,
        "flow": [
            {"step": "chat", "answer": True, "max_messages": 3},
            {"step": "confidence", "time_limit": {"after_s": 90, "on_expiry": "end", "extensions": 2}},
        ],
    },
    {"step": "check", "id": "awake", "kind": "attention", "policy": "screen_out"}
    | {"questions": [{**YES_NO, "name": "there", "text": "Are you there?"}], "correct_answers": {"there": WELL}},
    {"step": "finish"},
]


def study(folder: Path, again: str) -> Study:
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)), encoding="utf-8")
    raw = {
        "study": NAME,
        "title": "A life",
        "export_schemas": ["chatbench", "mathconverse"],
        "problems": {"items": {"source": "jsonl", "path": "items.jsonl"}},
        "models": {name: {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}} for name in ("one", "two")},
        "factors": {"model": ["one", "two"]},
        "quotas": [{"max": 200}],
        "recruitment": {"channels": ["prolific"], "repeat_participation": again},
        "session_limits": {"time_limit_s": LIMIT_S, "away_after_s": AWAY_S, "hold_place_s": LEASE_S},
        "outcomes": {outcome: {"code": code} for outcome, code in CODES.items()},
        "flow": FLOW,
    }
    return load_study(str(studies.write(folder, raw)))


class Seeded(SessionService):
    """A runtime in which the same people draw the same: what hypothesis tries again has to be as it was."""

    async def enrol(self, study: Study, *, seed: str = "", **known: Any) -> LoadedSession:
        with self._database.connect() as connection:
            begun = connection.execute(select(func.count()).select_from(tables.sessions)).scalar_one()
        return await super().enrol(study, seed=seed or f"{begun}", **known)


class Server:
    """A process that serves the study: arrival, cookies, participant API and runtime, without the gate before them."""

    def __init__(self, folder: Path, database: Database, clock: Clock, study: Study) -> None:
        self.runtime = Seeded(database, settings_for(folder), clock)
        self.runtime.prepare(study)
        cookies = SessionCookie(SECRET, secure=False)
        offered = OpenStudies(self.runtime, database, [study])
        people = Participants(database, SECRET)
        links = Links(people, ProlificTokens(settings_for(folder)), TrialLinks(SECRET), RehearsalLinks(SECRET))
        arrival = StartPage(
            self.runtime, database, people, links, cookies, offered, Tickets(SECRET), address=URL, per_address=100_000
        )
        self.app: ASGIApp = Starlette(routes=[*ParticipantApi(self.runtime, cookies).routes(), *arrival.routes()])


class Servers:
    """Two processes over one database, each of which can be started anew; the one whose turn it is serves."""

    def __init__(self, *given: Any) -> None:
        self._given = given
        self.all = [Server(*given), Server(*given)]
        self.turn = 0

    @property
    def runtime(self) -> SessionService:
        return self.all[self.turn].runtime

    async def restart(self) -> None:
        """Stop the process whose turn it is, and start another in its place, with nothing in memory."""
        await self.runtime.close()
        self.all[self.turn] = Server(*self._given)

    async def close(self) -> None:
        for server in self.all:
            await server.runtime.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.all[self.turn].app(scope, receive, send)


def tab(servers: Servers, seed: str, beside: HttpBot | None = None) -> HttpBot:
    """A tab in a browser of its own, or in the same browser as another tab."""
    bot = HttpBot(URL, seed)
    bot.client = beside.client if beside else httpx2.AsyncClient(transport=httpx2.ASGITransport(servers), base_url=URL)
    return bot
