"""Every fault of a model server, in every protocol, at sessions that meet them all at once: no turn is lost or doubled.

The fault is asked for by what is said, so one study serves for all of them. With --soak each protocol meets each fault;
without, each meets a share of them, and one of them each.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.clock import WorldClock
from app.counting import Live
from app.library import load_study
from app.runtime import Runtime
from app.settings import Settings
from storage.engine import Database, open_database
from tests.contract.test_backend_faults import SOUND, TABLE
from tests.fakes import failing
from tests.fakes.asking import WAYS
from tests.fakes.model_faults import FAULTS, reply_to
from tests.fakes.model_server import Server, serve
from tests.wiring.reading import check_sound, query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CALM = "The assistant could not answer. Your message is saved."
PATIENCE_S, MANY = 6, 15
"""How long is waited for a word, and twice as long where so many talk at once: a busy machine is slow for all."""

NEW_TRY = ("drop-at-once",)
"""A kept connection that is closed before the first byte is tried once more, and is no failure by itself."""


@dataclass
class Talk:
    """A session at its chat."""

    runtime: Runtime
    live: Live

    async def act(self, kind: str, **values: Any) -> None:
        """A click, and what follows it."""
        screen, stream = self.live.screen, self.live.stream
        await self.runtime.participant(stream, kind, screen.path, values, seen=screen.seen)
        await self.runtime.settled(stream)
        self.live = await self.runtime.live(stream) or self.live

    @property
    def kinds(self) -> list[str]:
        """The chat's facts."""
        return [event.kind for event in self.live.state.events if "with_ai" in event.path and event.kind != "flagged"]

    @property
    def chat(self) -> Any:
        """The conversation on the screen."""
        return self.live.screen.panel.chat


async def met(runtime: Runtime, study: Any, fault: str) -> Talk:
    """Somebody who has said what makes the model server fail, and heard what becomes of it."""
    talk = Talk(runtime, await runtime.enrol(study, origin="bot", seed=fault))
    await talk.act("submit", agreed="on")
    await talk.act("submit", confidence="very-confident")
    await talk.act("say", text=f"fault:{fault}")
    return talk


def asked(models: Server) -> Counter[str]:
    """How often the models were asked with each fault."""
    return Counter(
        next(name for name in FAULTS if f'"fault:{name}"' in json.dumps(one.body)) for one in models.requests
    )


def share_of(way: str, names: Iterable[str]) -> list[str]:
    """Every so many-th of the faults, so that each is met by one of the protocols."""
    return [*names][[*WAYS].index(way) :: len(WAYS)]


def patient(folder: Path, models: Server, talks: int) -> Settings:
    """Settings with which a fault is over soon, and no sound reply is given up."""
    word_s = PATIENCE_S * (2 if talks > MANY else 1)
    waits = {"first_token_timeout_s": word_s, "token_gap_timeout_s": word_s, "reply_timeout_s": 2 * word_s}
    return failing.settings(folder, models.base_url, **waits, connect_timeout_s=word_s, model_tries=1)


@pytest.mark.parametrize("way", WAYS)
async def test_no_turn_is_lost_or_doubled(tmp_path: Path, way: str, soak: bool) -> None:
    faults = [*FAULTS] if soak else share_of(way, FAULTS)
    broken, sound = [fault for fault in faults if fault in TABLE], [fault for fault in faults if fault in SOUND]
    study = load_study(str(failing.talk(tmp_path, "talk", {"only": failing.model("", way)})))
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    with serve() as models:
        runtime = Runtime(database, patient(tmp_path, models, len(faults)), WorldClock())
        runtime.prepare(study)
        talks = dict(zip(faults, await asyncio.gather(*(met(runtime, study, fault) for fault in faults)), strict=True))
        for fault in broken:
            chat = talks[fault].chat
            assert talks[fault].kinds == ["said", "failed"], fault
            assert (chat.failed, [m.text for m in chat.messages]) == (CALM, [f"fault:{fault}"])
            assert talks[fault].live.screen.actions == ("retry", "submit")
        for fault in sound:
            assert talks[fault].kinds == ["said", "replied"], fault
            assert talks[fault].chat.messages[-1].text == SOUND[fault][0].strip(), fault
        first = asked(models)
        assert all(count == 1 or (count == 2 and fault in NEW_TRY) for fault, count in first.items())
        assert first.keys() == {*faults}
        models.mended = True
        await asyncio.gather(*(talks[fault].act("retry") for fault in broken))
        for fault in broken:
            assert talks[fault].kinds == ["said", "failed", "retried", "replied"]
            assert [m.text for m in talks[fault].chat.messages] == [f"fault:{fault}", reply_to(f"fault:{fault}")]
        assert asked(models) - first == Counter(broken)
        await asyncio.gather(*(talk.act("submit", answer="A") for talk in talks.values()))
        await runtime.close()
    kept(database, faults, len(broken))
    database.dispose()


def kept(database: Database, faults: Sequence[str], failed: int) -> None:
    """The tables hold each conversation once, the attempts their causes."""
    talks = [json.loads(talk) for (talk,) in query(database, "SELECT chat_history FROM conversations")]
    assert sorted(talk[0]["content"] for talk in talks) == sorted(f"fault:{fault}" for fault in faults)
    assert {len(talk) for talk in talks} == {2}
    attempts = query(database, "SELECT count(*), count(reason), count(cause) FROM attempt")
    assert attempts == [(len(faults) + failed, failed, failed)]
    check_sound(database)
