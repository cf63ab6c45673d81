"""Stop in a side-by-side chat, at every moment: what was received of each column is kept, no model is asked again by
itself, and which column it is makes no difference."""

from __future__ import annotations

import asyncio
import csv
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.backends.guard import ACCEPTED
from app.clock import VirtualClock
from app.errors import BackendRejected, BackendUnavailable
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from experiments.session.conversation import stopped_by_user
from experiments.session.side_by_side import models_by_slot, rounds
from storage.schemas.chatbench import CONVERSATIONS, FULL_STUDY
from storage.schemas.mathconverse import INTERACTIONS
from tests.fakes.databases import export
from tests.fakes.sitting import Sitting
from tests.fakes.stepping_model import ASKED, Asking
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("stepped")]
SLOTS = ("a", "b")
AWAY = BackendUnavailable("away", reason="connection")
REJECTED = BackendRejected("rejected", reason="status_400")
# A pause before the next try that no test lives to see the end of.
LONG_S = 600
# How far a column is when Stop is pressed.
MOMENTS: dict[str, Callable[[Asking], None]] = {
    "silent": lambda _: None,
    "begun": lambda one: one.release("One "),
    "further": lambda one: one.release("One ", "and two "),
    "whole": lambda one: (one.release("One."), one.end())[-1],
    "pausing": lambda one: one.fail(AWAY),
    "broken off": lambda one: (one.release("One "), one.fail(AWAY))[-1],
}
KEPT = {"silent": "", "begun": "One", "further": "One and two", "whole": "One.", "pausing": "", "broken off": "One"}
# When a column is asked no more, and nothing of it can be stopped.
DONE = ("whole", "broken off")


class Duel(Sitting):
    """In which something was said to two models."""

    async def ask(self) -> Duel:
        ASKED.clear()
        await self.begin()
        await self.act("say", text="Hello")
        while len(ASKED) < len(SLOTS):
            await asyncio.sleep(0)
        return self

    def asking(self, slot: str) -> Asking:
        """The last time that the model of a column was asked."""
        models = models_by_slot(self.live.state.events)
        return next(one for one in reversed(ASKED) if one.model == models[slot])

    async def heard(self, slot: str, pieces: int) -> str:
        """What a page that follows a column hears until so many of its pieces were heard."""
        text, wanted = "", "".join(self.asking(slot).released[:pieces])
        async for piece, end in self.service.follow(self.live, 0, slot):
            text = text + piece if end else ""
            if text == wanted:
                break
        return text

    async def over(self) -> LoadedSession:
        """The session once no reply is on its way, however often it is looked at."""
        for _ in range(3):
            await self.settle()
        assert self.on_the_way() == 0
        return self.live

    def on_the_way(self) -> int:
        return len(self.service._answering._running)

    def outcomes(self) -> dict[str, tuple[str, str]]:
        """What became of each column: its text and how it ended; "" where it failed by itself."""
        (one,) = rounds(self.live.state.facts[self.live.screen.path])
        found = {}
        for slot, event in one.outcomes.items():
            how = (
                event.data["finish_reason"] if event.kind == "replied" else "stopped" if stopped_by_user(event) else ""
            )
            found[slot] = (event.data.get("text", ""), how)
        return found


@pytest.fixture
async def duel(tmp_path: Path) -> AsyncIterator[Duel]:
    raw = {
        "study": "duel",
        "title": "Duel",
        "models": {name: {"backend": "stepping", "system": "", "options": {}} for name in ("left", "right")},
        "flow": [{"step": "compare"}, {"step": "finish"}],
    }
    wrong: list[dict[str, Any]] = []  # in tasks that nobody waits for
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    duel = Duel(tmp_path, raw, retry_wait_s=LONG_S, max_retry_wait_s=LONG_S)
    yield duel
    await duel.close()
    assert wrong == []


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("left", MOMENTS)
@pytest.mark.parametrize("right", MOMENTS)
async def test_stop_keeps_what_came_of_each_column_and_asks_nobody_again(duel: Duel, left: str, right: str) -> None:
    await duel.ask()
    at = dict(zip(SLOTS, (left, right), strict=True))
    for slot, moment in at.items():
        MOMENTS[moment](duel.asking(slot))
    for slot, moment in at.items():
        if moment in ("begun", "further"):
            await duel.heard(slot, 2)
    await turns(20)
    while duel.on_the_way() > sum(moment not in DONE for moment in at.values()):
        await asyncio.sleep(0)
    asked = [one.model for one in ASKED]
    if {*at.values()} <= {*DONE}:
        with pytest.raises(Refused):
            await duel.act("stop")
    else:
        await duel.act("stop")
    live = await duel.over()
    assert [one.model for one in ASKED] == asked
    ends = {"whole": "stop", "broken off": ""}
    assert duel.outcomes() == {slot: (KEPT[moment], ends.get(moment, "stopped")) for slot, moment in at.items()}
    words, broken = all(KEPT[moment] for moment in at.values()), "broken off" in at.values()
    assert live.screen.actions == (("say",) if not words else ("retry", "submit") if broken else ("vote",))


async def test_stop_between_any_two_turns_of_the_loop(duel: Duel, seed: int, soak: bool) -> None:
    chance = random.Random(seed)
    for _ in range(5_000 if soak else 30):
        await duel.ask()
        asked = len(ASKED)
        _HEARD.update({slot: [] for slot in SLOTS})
        feeding = [asyncio.create_task(_feed(duel.asking(slot), chance.sample(range(40), 6))) for slot in SLOTS]
        listening = [asyncio.create_task(_listen(duel, slot)) for slot in SLOTS]
        await turns(chance.randrange(60))
        heard = {slot: "".join(_HEARD[slot]) for slot in SLOTS}
        refused = False
        try:
            await duel.act("stop")
        except Refused:
            refused = True
        live = await duel.over()
        await asyncio.gather(*feeding, *listening)
        assert len(ASKED) == asked
        assert set(duel.outcomes()) == set(SLOTS)
        for slot, (text, how) in duel.outcomes().items():
            asking = duel.asking(slot)
            whole = "".join(asking.released).strip()
            assert whole.startswith(text)
            assert len(text) >= len(heard[slot].strip()), "what was seen is kept"
            assert how == ("stopped" if how not in ACCEPTED else "stop")
            assert how != "stop" or (asking.ended and text == whole)
            assert how == "stop" or not refused
        words = all(text for text, _ in duel.outcomes().values())
        assert live.screen.actions == (("vote",) if words else ("say",))


_HEARD: dict[str, list[str]] = {}


async def _feed(asking: Asking, pauses: Sequence[int]) -> None:
    for number, pause in enumerate(pauses):
        await turns(pause)
        asking.release(f"w{number} ")
    asking.end()


async def _listen(duel: Duel, slot: str) -> None:
    async for text, _ in duel.service.follow(duel.live, 0, slot):
        _HEARD[slot].append(text)


async def test_what_a_stop_has_cut_is_asked_again_with_what_failed(duel: Duel) -> None:
    for cut, broken in (SLOTS, SLOTS[::-1]):
        for clicked in ({}, {"slot": broken}):
            await duel.ask()
            duel.asking(cut).release("One ")
            duel.asking(broken).fail(REJECTED)
            await duel.heard(cut, 1)
            while duel.on_the_way() > 1:
                await asyncio.sleep(0)
            await duel.act("stop")
            await duel.over()
            asked = len(ASKED)
            await duel.act("retry", **clicked)
            while len(ASKED) < asked + 2:
                await asyncio.sleep(0)
            for slot in SLOTS:
                duel.asking(slot).release("All of it.")
                duel.asking(slot).end()
            live = await duel.over()
            assert duel.outcomes() == dict.fromkeys(SLOTS, ("All of it.", "stop"))
            assert live.screen.actions == ("vote",)


def timed(folder: Path, then: str, **settings: Any) -> Sitting:
    """A study with a chat of a minute. If it goes on then, the problem is answered in the chat, as in ChatBench."""
    answered = then == "continue"
    released = "chatbench" if answered else "mathconverse"
    talk = {"step": "chat", "model": "one", "answer": answered, "time_limit": {"after_s": 60, "on_expiry": then}}
    raw = {
        "study": "timed",
        "title": "Timed",
        "export_schemas": [released],
        "problems": {"pool": {"source": "jsonl", "path": "pool.jsonl"}},
        "models": {"one": {"backend": "stepping", "system": "", "options": {}}},
        "flow": [{"each": "item", "of": "pool", "take": 2, "flow": [talk]}, {"step": "finish"}],
    }
    options = [{"key": key, "text": key, "plain": key} for key in "AB"]
    pool = [json.dumps({"id": name, "text": "?", "options": options, "answer": "A"}) for name in "ab"]
    (folder / "pool.jsonl").write_text("\n".join(pool), encoding="utf-8")
    return Sitting(folder, raw, VirtualClock(10**15), **settings)


@pytest.mark.parametrize("then", ["continue", "end"])
@pytest.mark.parametrize(
    ("elsewhere", "database_url"),
    [pytest.param(False, "sqlite", id="here"), pytest.param(True, "postgresql", id="another process")],
    indirect=["database_url"],
)
async def test_a_reply_on_the_screen_when_time_runs_out_is_in_the_log_and_the_exports(
    tmp_path: Path, then: str, elsewhere: bool, database_url: str
) -> None:
    talk = await timed(tmp_path, then, database_url=database_url).begin()
    ours, other, answered = talk.service, talk.start(), then == "continue"
    released, database = "chatbench" if answered else "mathconverse", talk.database
    live = talk.live
    live = await ours.participant(live.stream, "say", live.screen.path, {"text": "Hi"}, seen=live.screen.seen)
    while not ASKED:
        await asyncio.sleep(0.01)
    ASKED[0].release("It was on ", "the scr")
    async for _, length in ours.follow(live, 0):
        if length == len("It was on the scr"):
            break
    talk.clock.advance(63)
    while not live.state.events[-1].kind.startswith(("expired", "finished")):
        live = await (other if elsewhere else ours).reload(live.stream) or live
        await asyncio.sleep(0.01)
    ASKED[0].end()
    await ours.settled(live.stream)
    kinds = [event.kind for event in facts(database, live.stream)]
    ended = "expired" if then == "continue" else "finished"
    assert kinds == ["enrolled", "drawn", "said", "stopped", "replied", ended]
    export(database, "timed", "tidy", tmp_path / "tidy")
    rows = (tmp_path / "tidy" / "messages.csv").read_text(encoding="utf-8").splitlines()
    messages = list(csv.DictReader(rows))
    assert [(row["role"], row["text"], row["ending"]) for row in messages] == [
        ("user", "Hi", "complete"),
        ("assistant", "It was on the scr", "expired"),
    ]
    export(database, "timed", released, tmp_path / released)
    if answered:
        (row,) = json.loads((tmp_path / released / FULL_STUDY / CONVERSATIONS.file).read_bytes())
        assert [said["content"] for said in row["chat_history"]] == ["Hi", "It was on the scr"]
        assert (row["selected_answer"], row["acc"]) == (None, None)
    else:
        (line,) = csv.DictReader((tmp_path / released / INTERACTIONS.file).read_text(encoding="utf-8").splitlines())
        assert (line["model_responses"], line["helpfulness_ratings"]) == ("['AI: It was on the scr']", "[None]")
    assert query(database, "SELECT text FROM attempt") == [("It was on the scr",)]
    await talk.close()


async def test_after_a_kill_in_mid_reply_the_clock_ends_the_step_and_no_model_is_asked_again(tmp_path: Path) -> None:
    talk = await timed(tmp_path, "continue").begin()
    live = (await talk.act("say", text="Hi")).live
    while not ASKED:
        await asyncio.sleep(0.01)
    await talk.kill()
    talk.clock.advance(63)
    talk.start()
    while live.state.events[-1].kind != "expired":
        live = await talk.service.reload(live.stream) or live
        await asyncio.sleep(0.01)
    kinds = [(event.kind, event.data.get("reason")) for event in talk.events]
    assert kinds[2:] == [("said", None), ("stopped", None), ("failed", "expired"), ("expired", None)]
    assert len(ASKED) == 1
    await talk.close()
