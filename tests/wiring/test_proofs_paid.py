"""Of several sessions under one id one is paid by itself, as nobody may be paid for an id that others know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storage.participants import Participants
from storage.payments import payees
from tests.fakes.commanding import parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.proofs import signed, study
from tests.fakes.served import SECRET, Served, serving, settings_for

pytestmark = pytest.mark.anyio


async def each_to_the_end(served: Served, links: Sequence[str]) -> list[str]:
    """Somebody in a browser of their own comes by each link and goes to the end, one after another."""
    found = []
    for number, link in enumerate(links):
        async with HttpBot(served.url, f"{number}") as bot:
            await bot.arrive("small", link)
            await bot.finish()
            found.append(bot.stream)
    return found


PLAIN, PROVEN = "?PROLIFIC_PID=abc123&SESSION_ID=s1", signed("small", "prolific", "abc123", SESSION_ID="s1")


@pytest.mark.parametrize(
    ("links", "paid"),
    [
        ([PLAIN, PLAIN, PLAIN], 0),
        ([PLAIN, PROVEN, PLAIN], 1),
        ([PROVEN, PLAIN], 0),
        ([PLAIN], 0),
    ],
)
async def test_of_sessions_under_one_id_one_is_paid_by_itself(tmp_path: Path, links: Sequence[str], paid: int) -> None:
    path = study(tmp_path, recruitment={"by": ["prolific"]}, bonus=[{"each": "complete", "amount": 1}])
    async with serving(settings_for(tmp_path), path) as served:
        streams = await each_to_the_end(served, links)
        done = parley("pay", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        found = payees(served.database, Participants(served.database, SECRET), "small")
        assert [payee.stream for payee in found if payee.paid] == [streams[paid]]
        assert [payee.stream for payee in found if payee.second] == [s for s in streams if s != streams[paid]]
        assert ("Not paid by themselves" in done.stdout) == (len(links) > 1)
        (bonus,) = (tmp_path / "out").glob("prolific-bonus-*")
        assert bonus.read_text(encoding="utf-8") == "abc123,1.00\n"
        (approve,) = (tmp_path / "out").glob("prolific-approve-*")
        assert approve.read_text(encoding="utf-8") == "abc123\n"
        await each_to_the_end(served, [PLAIN, PROVEN])
        parley("pay", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        found = payees(served.database, Participants(served.database, SECRET), "small")
        assert [payee.stream for payee in found if payee.paid] == [streams[paid]], "nor the next time"


async def test_who_was_paid_and_withdrew_is_not_paid_again_under_the_same_id(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"by": ["prolific"]}, bonus=[{"each": "complete", "amount": 1}])
    async with serving(settings_for(tmp_path), path) as served:
        async with HttpBot(served.url, "1") as bot:
            await bot.arrive("small", PLAIN)
            await bot.finish()
            parley("pay", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
            await bot.do("withdraw", {})
        await each_to_the_end(served, [PLAIN])
        parley("pay", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        assert len(list((tmp_path / "out").glob("prolific-bonus-*"))) == 1


async def test_an_unfinished_session_elsewhere_keeps_nobody_from_being_paid(tmp_path: Path) -> None:
    path = study(tmp_path, recruitment={"by": ["prolific"]}, bonus=[{"each": "complete", "amount": 1}])
    async with serving(settings_for(tmp_path), path) as served, HttpBot(served.url, "phone") as phone:
        await phone.arrive("small", PLAIN)
        (laptop,) = await each_to_the_end(served, [PLAIN])
        parley("pay", "small", "-o", "out", folder=tmp_path, PARLEY_SECRET=SECRET)
        found = payees(served.database, Participants(served.database, SECRET), "small")
        assert [payee.stream for payee in found if payee.paid] == [laptop]
