"""How many are wanted, and who is where: caps and cells in a running study, its status, and what is derived again."""

from __future__ import annotations

import asyncio
import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.session.transitions import LoadedSession
from experiments.errors import Refused
from storage.db.engine import writer
from storage.log.projections import rebuild
from storage.registers.participants import ParticipantId, Participants
from storage.registers.study_status import set_status
from storage.reports.reproducibility import recompute_draws
from tests.fakes.clicks import click, finish
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio


class Place(Sitting):
    """A study of two factors with people in it."""

    clock: VirtualClock

    def __init__(self, folder: Path, **keys: Any) -> None:
        raw: dict[str, Any] = {
            "study": "small",
            "title": "Small",
            "factors": {"condition": ["a", "b"], "price": {"low": 2, "high": 1}},
            "flow": [
                {"step": "consent", "text": "Do you agree?"},
                {"step": "info", "text": "You are {{condition}}, {{price}}."},
                {"step": "finish", "code": "DONE"},
            ],
        }
        self.folder = folder
        super().__init__(folder, raw | keys, VirtualClock(START_US))

    async def come(self, count: int, id_: str = "", *, finish: bool = False) -> list[LoadedSession]:
        """Some people begin at once and consent, and perhaps go to the end."""
        people = Participants(self.database, SECRET)
        entry = people.entry("small", ParticipantId("prolific", id_)) if id_ else None
        began = await asyncio.gather(
            *(self.service.enrol(self.study, origin="person", identity=entry) for _ in range(count))
        )
        agreed = await asyncio.gather(*map(self.agree, began))
        return [await self.to_the_end(live) for live in agreed] if finish else agreed

    async def agree(self, session: LoadedSession) -> LoadedSession:
        return await click(self.service, session, agreed="on")

    async def to_the_end(self, session: LoadedSession) -> LoadedSession:
        return await finish(self.service, session, RandomBot("1"))

    def decide(self, kind: str, **data: Any) -> None:
        set_status(self.database, "small", kind, data, by="researcher", at_us=self.clock.now_us())
        self.clock.advance(5)

    def status(self) -> dict[str, Any]:
        """What `parley show status` says; its clock is the world's, so that leases of simulated time are over."""
        found: dict[str, Any] = json.loads(self.command("show", "status", "small", "--json").stdout)
        return found

    def command(self, *words: str) -> Any:
        done = parley(*words, folder=self.folder, PARLEY_SECRET=SECRET)
        assert done.returncode == 0, done.stderr
        return done


def cells(lives: list[LoadedSession]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(live.state.factors.values()) for live in lives)


async def test_cells_are_filled_by_their_weights_and_a_cell_is_switched_off_in_mid_study(tmp_path: Path) -> None:
    place = Place(tmp_path)
    first = await place.come(12)
    assert cells(first) == {("a", "low"): 4, ("b", "low"): 4, ("a", "high"): 2, ("b", "high"): 2}
    place.decide("capped", where={"condition": "a"}, most=0)
    assert cells(await place.come(6)) == {("b", "low"): 4, ("b", "high"): 2}
    place.decide("capped", where={"condition": "a"}, most=None)
    back = cells(await place.come(6))
    assert back == {("a", "low"): 4, ("a", "high"): 2}, "what was missed meanwhile is made good"
    await place.close()


@pytest.mark.parametrize("factors", [{"condition": ["a", "b"]}, {}], ids=["factors", "no factors"])
async def test_who_only_opens_the_link_holds_no_place(tmp_path: Path, factors: dict[str, Any]) -> None:
    info = {"step": "info", "text": "Welcome."}
    flow = [info, {"step": "consent", "text": "Do you agree?"}, info | {"id": "more"}, {"step": "finish"}]
    place = Place(tmp_path, quotas=[{"max": 3}], factors=factors, flow=flow)
    came = [await place.service.enrol(place.study, origin="person") for _ in range(50)]
    assert {tuple(live.state.factors) for live in came} == {()}
    came = [await click(place.service, live) for live in came]
    agreed = await asyncio.gather(*map(place.agree, came), return_exceptions=True)
    placed = [live for live in agreed if isinstance(live, LoadedSession)]
    assert len(placed) == 3, "as many as are wanted, however many consent at once"
    assert all(set(live.state.factors) == set(factors) for live in placed)
    refused = [live for live, found in zip(came, agreed, strict=True) if isinstance(found, Refused)]
    assert len(refused) == 47
    with pytest.raises(Refused):
        await place.service.enrol(place.study, origin="person")
    place.decide("capped", where={}, most=4)
    assert (await place.agree(refused[0])).screen.path == "more", "who was refused can consent once there is a place"
    assert place.status()["outcomes"]["live"] + place.status()["outcomes"]["left"] == 50
    rebuild(place.database)
    with pytest.raises(Refused):
        await place.agree(refused[1])
    assert not recompute_draws(place.database, "small").differences
    await place.close()


@pytest.mark.parametrize(
    "flow",
    [
        [{"step": "info", "text": "You are {{condition}}."}, {"step": "consent", "text": "Yes?"}],
        [{"step": "consent", "text": "Yes?", "when": {"condition": "a"}}],
        [{"each": "turn", "take": 1, "flow": [{"step": "consent", "text": "Yes?"}]}],
        [{"step": "info", "text": "There is no consent."}],
    ],
    ids=["a text before it", "a condition", "a loop", "no consent"],
)
async def test_a_place_is_taken_at_the_beginning_where_it_matters_before_the_consent(
    tmp_path: Path, flow: list[dict[str, Any]]
) -> None:
    place = Place(tmp_path, flow=[*flow, {"step": "finish"}], quotas=[{"max": 1}], factors={"condition": ["a", "b"]})
    (live,) = [await place.service.enrol(place.study, origin="person")]
    assert set(live.state.factors) == {"condition"}
    with pytest.raises(Refused):
        await place.service.enrol(place.study, origin="person")
    await place.close()


async def test_a_place_is_free_again_after_its_lease_and_the_late_still_finish(tmp_path: Path) -> None:
    place = Place(tmp_path, quotas=[{"max": 1}])
    (late,) = await place.come(1)
    place.clock.advance(7200 - 1)
    with pytest.raises(Refused):
        await place.come(1)
    place.clock.advance(5)
    assert len(await place.come(1, finish=True)) == 1
    found = await place.service.get(late.stream)
    assert found is not None
    assert (await place.to_the_end(found)).state.outcome == "complete"
    with pytest.raises(Refused):
        await place.come(1)
    await place.close()


async def test_who_is_returned_by_prolific_makes_room(tmp_path: Path) -> None:
    place = Place(tmp_path, quotas=[{"max": 2}])
    await place.come(1, "aa1")
    await place.come(1, "aa2", finish=True)
    with (tmp_path / "export.csv").open("w", newline="") as file:
        rows = [("aa1", "RETURNED"), ("aa2", "APPROVED"), ("aa3", "TIMED-OUT"), ("foreign", "AWAITING REVIEW")]
        csv.writer(file).writerows([("Participant id", "Status"), *rows])
    told = place.command("recruit", "release", "small", str(tmp_path / "export.csv")).stdout
    assert "1 place is free again" in told
    assert "2 IDs belong to no session" in told
    place.clock.advance(5)
    assert len(await place.come(1)) == 1
    with pytest.raises(Refused):
        await place.come(1)
    await place.close()


async def test_verify_derives_everything_again_and_notices_what_was_forged(tmp_path: Path) -> None:
    place = Place(tmp_path)
    began = await place.come(8, finish=True)
    await place.close()
    found = recompute_draws(place.database, "small")
    assert (found.sessions, found.assignments, found.differences) == (8, 8, ())
    assert json.loads(place.command("show", "draws", "small", "--json").stdout)["assignments"] == 8
    victim = next(live for live in began if live.state.factors["condition"] == "a")
    with writer(place.database) as connection, connection.begin():
        connection.execute(text("DROP TRIGGER event_is_fact_update"))
        forged = text("""UPDATE event SET data = replace(data, '"condition":"a"', '"condition":"b"')
                         WHERE kind = 'assigned' AND stream = :stream""")
        assert connection.execute(forged, {"stream": victim.stream}).rowcount == 1
    assert len(recompute_draws(place.database, "small").differences) == 1
    assert parley("show", "draws", "small", folder=tmp_path).returncode == 1
