"""Payments in the console: what is shown, written once, and created again."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from app.studies.loader import load_study
from storage.db.engine import open_database
from storage.payments.payments import payees
from storage.registers.study_versions import publish_on_start
from tests.fakes.console import Room, console
from tests.fakes.let_go import let_go
from tests.fakes.payees import STUDY, Somebody, pid, take_part
from tests.fakes.researcher import Researcher, value, visible

pytestmark = pytest.mark.anyio
PEOPLE = (
    Somebody("prolific", pid(1), 3),
    Somebody("prolific", pid(2), 2),
    Somebody("prolific", pid(3), outcome="no_consent"),
)
PAID = f"{pid(1)},0.30\n{pid(2)},0.20\n"
NO_EXPORT = "export is not given"
Console = tuple[Room, Researcher]


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Console]:
    await take_part(tmp_path, *PEOPLE)
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    async with console(tmp_path, database) as (room, researcher):
        await researcher.open(study="paid", tab="payments")
        yield room, researcher
    let_go(database)


async def fetched(researcher: Researcher, link: Any) -> dict[str, str]:
    found = re.search(r'href="(download/[^"]+)"', value(link))
    assert found, value(link)
    answer = await researcher.client.get(f"/{found[1]}")
    with ZipFile(io.BytesIO(answer.content)) as archive:
        return {re.sub(r"\d{4}-\d\d-\d\d", "DAY", name): archive.read(name).decode() for name in archive.namelist()}


async def test_bonuses_are_recorded_once_and_their_file_can_be_created_again(at: Console) -> None:
    room, researcher = at
    assert 'data-median="9.0"' in value((await researcher.enter("payments"))["payments"])
    unsure = await researcher.on("payments-write", "click")
    assert "warn" in value(unsure["note"])
    paid = await researcher.on("payments-write", "click", **{"payments-sure": True})
    files = await fetched(researcher, paid["payments-link"])
    assert files["prolific-bonus-DAY-1.csv"] == PAID
    assert files["prolific-return-DAY-1.csv"] == f"{pid(3)}\n"
    assert room.did[-1][1:] == ("created payment files", "paid: 2 bonuses, 0.50 in all")
    assert 'data-bonuses="0" data-sum="0.0' in value(paid["payments"])
    once_more = await researcher.on("payments-write", "click", **{"payments-sure": True})
    assert not any("bonus" in name for name in await fetched(researcher, once_more["payments-link"]))
    assert value(once_more["payments-link"]).count("publish") == 1, "said once of all files"
    name = value(paid["payments-file"])
    again = await researcher.on("payments-again", "click", **{"payments-file": name})
    assert await fetched(researcher, again["payments-link"]) == {"prolific-bonus-DAY-1.csv": PAID}


async def test_prolifics_export_says_who_is_left_out_and_a_bad_one_writes_nothing(at: Console) -> None:
    _, researcher = at
    returned = f"Participant id,Status\n{pid(1)},RETURNED\n{pid(2)},AWAITING REVIEW\n{pid(3)},APPROVED\n"
    shown = await researcher.on("payments-export", "change", **{"payments-export": returned})
    assert 'data-bonuses="1" data-sum="0.2' in value(shown["payments"])
    assert NO_EXPORT not in value(shown["payments"])
    assert "payments-export" not in await researcher.enter("payments"), "what was pasted stays"
    again = await researcher.on("tab", "change", tab="payments", **{"payments-export": returned})
    assert value(again["payments"]) == value(shown["payments"])
    values = {"payments-sure": True}
    for no_export in ("no,export\n", returned.replace("APPROVED", "NONSENSE"), returned.replace("APPROVED", "")):
        for button in ("payments-write", "payments-free"):
            bad = await researcher.on(button, "click", **{**values, "payments-export": no_export})
            assert 'role="alert"' in value(bad["note"])
    paid = await researcher.on("payments-write", "click", **{**values, "payments-export": returned})
    files = await fetched(researcher, paid["payments-link"])
    assert files["prolific-bonus-DAY-1.csv"] == f"{pid(2)},0.20\n"


async def test_places_of_submissions_that_are_over_are_freed(at: Console) -> None:
    room, researcher = at
    over = f"Participant id,Status\n{pid(1)},RETURNED\n{pid(9)},TIMED-OUT\n"
    await researcher.on("payments-free", "click", **{"payments-export": over})
    assert room.did[-1][2] == "paid"
    for nothing in ("", "a,b"):
        refused = await researcher.on("payments-free", "click", **{"payments-export": nothing})
        assert 'role="alert"' in value(refused["note"])
    elsewhere = await researcher.on("payments-write", "click", **{"payments-sure": True, "payments-export": ""})
    files = await fetched(researcher, elsewhere["payments-link"])
    assert files["prolific-bonus-DAY-1.csv"] == f"{pid(2)},0.20\n", "of a tab that was open before"


@pytest.mark.parametrize(("bonus", "absent"), [([], ("data-bonuses", "Paid before")), (STUDY["bonus"], ())])
async def test_a_study_that_pays_by_hand_asks_nothing_about_prolific(
    tmp_path: Path, bonus: list[Any], absent: tuple[str, ...]
) -> None:
    await take_part(tmp_path, Somebody("panel", "p-1", 3), Somebody("open", "", outcome="withdrawn"), bonus=bonus)
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    async with console(tmp_path, database) as (_, researcher):
        shown = await researcher.open(study="paid", tab="payments")
        assert not [word for word in ("Prolific", "return", *absent) if word in value(shown["payments"])]
        assert not [one for one in ("prolific", "sure", "excluded") if visible(shown[f"payments-{one}"])]
        written = await researcher.on("payments-write", "click")
        assert [*await fetched(researcher, written["payments-link"])] == ["payments-DAY-1.csv"]
    let_go(database)


async def test_the_row_of_an_excluded_session_says_so_unless_it_is_paid(at: Console) -> None:
    def rows(shown: Any) -> list[str]:
        return re.findall("<tr>.*?</tr>", value(shown["payments"]))

    room, researcher = at
    before = rows(await researcher.enter("payments"))
    desk = room.desk
    first, *_ = payees(desk.database, desk.participants, "paid", desk.clock.now_us())
    await desk.sessions.remark(first.stream, "excluded", "a friend", "ann")
    left_out = rows(await researcher.enter("payments"))
    assert len([one for one in left_out if one not in before]) == 1
    paid = await researcher.on("payments-excluded", "input", **{"payments-excluded": True})
    assert rows(paid) == before


async def test_analysts_neither_see_nor_create_payments(at: Console) -> None:
    room, researcher = at
    room.as_("analyst", "Bob")
    seen = await researcher.enter("payments", study="paid")
    assert not visible(seen["payments-form"])
    assert "<table" not in value(seen["payments"]) + value(seen["payments-earlier"])
    tried = await researcher.on("payments-write", "click", **{"payments-sure": True})
    assert 'role="alert"' in value(tried["note"])
    room.as_("owner")
    assert 'data-bonuses="2"' in value((await researcher.enter("payments"))["payments"])


async def test_no_files_are_offered_where_nobody_has_come_and_no_recruiter_lists_people(at: Console) -> None:
    room, researcher = at
    assert visible((await researcher.enter("payments", study="paid"))["payments-form"])
    publish_on_start(room.desk.database, load_study("demo"), at_us=1_000_000)
    assert not visible((await researcher.enter("payments", study="demo"))["payments-form"])


async def test_a_study_with_unpaid_bonuses_is_not_deleted(at: Console) -> None:
    room, researcher = at
    publish_on_start(room.desk.database, room.desk.studies.newest("paid"), at_us=1_000_000)
    await researcher.open(study="paid", tab="studies")
    await researcher.on("close-yes", "click")
    refused = await researcher.on("delete-yes", "click", **{"delete-name": "paid"})
    assert 'role="alert"' in value(refused["note"])
    await researcher.on("payments-write", "click", **{"payments-sure": True})
    gone = await researcher.on("delete-yes", "click", **{"delete-name": "paid"})
    assert 'role="alert"' not in value(gone["note"])
    assert room.did[-1][1].startswith("deleted")
