"""A target number of ratings per item with the real runtime: who comes at once, who leaves, who is simulated."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.session.transitions import LoadedSession
from storage.log.quota import item_counts
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio

POOL, TAKE, RATERS = 7, 3, 30
# How long places are kept unless a study says otherwise.
RESERVED_S = 7200
RATE = {"each": "item", "of": "items", "take": TAKE, "target": 5, "flow": [{"step": "info", "text": "{{item.text}}"}]}
PARTS = {"each": "part", "of": "items.part", "order": "listed", "flow": [{**RATE, "where": {"part": "{{part}}"}}]}
NESTED = {"phase": "All", "flow": [PARTS]}


class Rating(Sitting):
    """A study of ratings at work."""

    clock: VirtualClock

    def __init__(self, folder: Path, loop: Mapping[str, object]) -> None:
        items = [{"id": f"i{n}", "text": f"Number {n}", "tags": {"part": "ab"[n >= POOL]}} for n in range(2 * POOL)]
        pool = items if loop is NESTED else items[:POOL]
        (folder / "items.jsonl").write_text("\n".join(map(json.dumps, pool)), encoding="utf-8")
        flow = [{"step": "consent", "text": "Do you agree?"}, dict(loop), {"step": "finish", "code": "DONE"}]
        problems = {"items": {"source": "jsonl", "path": "items.jsonl"}}
        raw = {"study": "rating", "title": "Rating", "problems": problems, "flow": flow}
        super().__init__(folder, raw, VirtualClock(START_US))

    async def arrive(self) -> LoadedSession:
        return await self.submit(await self.service.enrol(self.study, origin="person"), agreed="on")

    async def submit(self, session: LoadedSession, **values: str) -> LoadedSession:
        seen = session.screen
        return await self.service.participant(session.stream, "submit", seen.path, values, seen=seen.seen)

    def taken(self, path: str = "item") -> dict[str, int]:
        """How often each item that was ever drawn is taken now."""
        with self.database.connect() as connection:
            return item_counts(connection, "rating", "person", path, self.clock.now_us(), RESERVED_S)


@pytest.fixture(params=[RATE], ids=["one loop"])
async def at_work(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rating]:
    async with Rating(tmp_path, request.param) as found:
        yield found


def ids(session: LoadedSession, path: str = "item") -> list[str]:
    return [item["item"] for item in session.state.draws[path].items]


def spread_of(counts: Mapping[str, int]) -> int:
    return max(counts.values()) - (min(counts.values()) if len(counts) == POOL else 0)


async def test_what_was_drawn_and_not_rated_is_given_back_after_a_while(at_work: Rating) -> None:
    gone = await at_work.arrive()
    for _ in range(2):
        gone = await at_work.submit(gone)
    rated, unrated = ids(gone)[:2], ids(gone)[2:]
    at_work.clock.advance(RESERVED_S - 1)
    assert at_work.taken() == dict.fromkeys(ids(gone), 1)
    at_work.clock.advance(1)
    assert at_work.taken() == {**dict.fromkeys(rated, 1), **dict.fromkeys(unrated, 0)}
    others = [await at_work.arrive() for _ in range(2)]
    given = Counter([*rated, *(item for live in others for item in ids(live))])
    assert spread_of(given) <= 1
    back = await at_work.submit(gone)
    assert ids(back) == ids(gone)  # who comes back goes on as they were
    assert at_work.taken()[unrated[0]] == given[unrated[0]] + 1


@pytest.mark.parametrize("at_work", [NESTED], ids=["a loop in a loop"], indirect=True)
async def test_inner_loops_are_counted_over_the_turns_of_outer_ones(at_work: Rating) -> None:
    raters = list(await asyncio.gather(*(at_work.arrive() for _ in range(10))))
    for number, live in enumerate(raters):
        for _ in range(TAKE):
            raters[number] = live = await at_work.submit(live)
    counts = at_work.taken("all/part[1]/item")
    assert counts == Counter(item for live in raters for turn in (0, 1) for item in ids(live, f"all/part[{turn}]/item"))
    for part in (range(POOL), range(POOL, 2 * POOL)):
        assert spread_of({f"i{number}": counts[f"i{number}"] for number in part}) <= 1
    at_work.clock.advance(RESERVED_S)
    assert sum(at_work.taken("all/part[0]/item").values()) == 10 * TAKE  # the first parts were rated
