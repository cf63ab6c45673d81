"""A hostile browser at the participants' server: forged, stale, foreign and random requests at every route.

No answer is a 500 or a traceback, nobody else's session is read or changed, no fact is written that the engine did not
allow, and no model is asked without a turn to take. With --soak: 100,000 requests.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.studies.loader import load_study
from experiments.session.conversation import ASKING
from experiments.session.engine import fold, screen
from storage.log.projections import differences
from storage.reports.reproducibility import recompute_draws
from tests.fakes.hostile_requests import Request, anything, near, near_to
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving_aside, settings_for, ticket
from tests.fakes.studies import write
from tests.wiring.reading import ACTS, facts, query
from tests.wiring.sound import check_log, logs_of

pytestmark = pytest.mark.slow
EVERYTHING = Path(__file__).parents[1] / "core" / "studies" / "everything.yaml"
VICTIMS = 3
CANARY = "zqcanaryqz"
# What is answered to a hostile request: served, led on, or refused; never that it broke.
FITTING = {200, 204, 206, 303, 304, 400, 401, 403, 404, 405, 413, 422}
SHORT = {"near": 40, "anything": 80}
# Examples of each kind.
LONG = 34_000
# Which action makes a fact.
MADE = {fact: kind for kind, made in ACTS.items() for fact in made}


@dataclass
class Attack:
    """A hostile browser at a server, whose other sessions are kept in mind."""

    served: Served
    victims: dict[str, int]
    """Their sessions, and how many facts each has."""
    client: httpx2.Client
    statuses: Counter[int] = field(default_factory=Counter)
    screen: dict[str, Any] = field(default_factory=dict)

    def arrive(self) -> None:
        self.client.cookies.clear()
        assert self.client.post("/s/everything", data=ticket("everything")).status_code == 303

    def look(self) -> None:
        """Know the present screen; begin anew where it is over."""
        for _ in range(2):
            response = self.client.post("/api/look", json={"view": "screen"})
            if response.status_code == 200 and not response.json()["screen"]["ended"]:
                self.screen = response.json()["screen"]
                return
            self.arrive()

    def send(self, request: Request) -> httpx2.Response:
        headers = {name: value.encode("latin-1", "replace") for name, value in request.headers.items()}
        url = request.path + (f"?{request.query}" if request.query else "")
        with self.client.stream(request.method, url, content=request.body, headers=headers) as response:
            body = response.read()
        self.statuses[response.status_code] += 1
        assert response.status_code in FITTING, (request, response.status_code, body[:300])
        assert b"Traceback" not in body
        assert CANARY.encode() not in body, request
        return response


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    folder = tmp_path_factory.mktemp("hostile")
    study = load_study(str(EVERYTHING)).file.model_dump(mode="json", exclude_unset=True, by_alias=True)
    for model in study["models"].values():
        model["options"] = {"first_ms": 0, "pace_ms": 0}
    with serving_aside(settings_for(folder), write(folder, study)) as served:
        streams = asyncio.run(victims(served))
        known = {stream: len(facts(served.database, stream)) for stream in streams}
        with httpx2.Client(base_url=served.url, timeout=60) as client:
            attack = Attack(served, known, client)
            yield attack
        check(attack)


async def victims(served: Served) -> list[str]:
    """People in the middle of the study, who have said something of their own."""
    streams = []
    for number in range(VICTIMS):
        async with HttpBot(served.url, str(number), canary=CANARY) as bot:
            await bot.arrive("everything")
            for _ in range(12 + 6 * number):
                await bot.step()
            while bot.screen.panel.chat and bot.screen.panel.chat.waiting:  # or a reply is added to their log later
                await bot.step()
            streams.append(bot.stream)
    return streams


def check(attack: Attack) -> None:
    database = attack.served.database
    assert {stream: len(facts(database, stream)) for stream in attack.victims} == attack.victims
    found = recompute_draws(database, "everything")
    assert found.differences == ()
    assert list(differences(database)) == []
    study = load_study(str(attack.served.settings.studies_dir.parent / "everything.yaml"))
    turns = Counter[str]()
    for stream, log in logs_of(database).items():
        state = fold(log)
        check_log(log, state)
        turns[stream] = sum(event.kind in ASKING for event in log)
        for number, event in enumerate(log):
            if event.kind in MADE and state.outcome != "withdrawn":
                offered = screen(study, fold(log[:number]))
                assert (MADE[event.kind] in offered.actions, event.path) == (True, offered.path), (stream, event)
    asked = query(database, "SELECT stream, count(DISTINCT turn), count(*), count(DISTINCT turn || slot) FROM attempt "
                            "GROUP BY stream")  # fmt: skip
    for stream, taken, tries, slots in asked:
        assert tries == slots, "a model was asked twice for one reply"
        assert taken <= turns[stream] or not turns[stream]
    print(dict(attack.statuses))


def often(kind: str, soak: bool) -> settings:
    """So many examples, none of them repeated to be made smaller: the server remembers what was done."""
    return settings(
        max_examples=LONG if soak else SHORT[kind],
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_what_is_near_to_what_is_asked(attack: Attack, soak: bool) -> None:
    attack.arrive()
    attack.look()

    @often("near", soak)
    @given(near)
    def run(drawn: dict[str, Any]) -> None:
        attack.send(near_to(attack.screen, drawn))
        attack.look()

    run()
    taken, refused = attack.statuses[200], attack.statuses[422]
    assert min(taken, refused) > 0, f"both are met: {attack.statuses}"


def test_anything_at_every_route(attack: Attack, soak: bool) -> None:
    @often("anything", soak)
    @given(anything(), st.integers(0, 20))
    def run(request: Request, forget: int) -> None:
        if not forget:
            attack.client.cookies.clear()
        attack.send(request)

    run()
    assert attack.statuses[404] > 0
