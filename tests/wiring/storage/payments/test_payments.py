"""Each wave is paid once, to the one whose first wave it was; and an exclusion is of the whole person."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest

from app.bots.simulate import DAY_US, START_US
from app.clock import VirtualClock
from app.session.transitions import LoadedSession
from app.use_cases.sessions import add_remark
from experiments.views.quality_flags import SAME_ID
from storage.payments.payment_files import PaymentRequest, run_payments
from storage.payments.payments import payees
from storage.registers.participants import ParticipantId, Participants
from storage.registers.persons import person_of
from tests.fakes.four_weeks import study
from tests.fakes.served import SECRET
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
WHO = ParticipantId("prolific", "5f3a" * 6)


class Weeks(Sitting):
    """People under one id that nothing proves."""

    clock: VirtualClock

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, study(bonus=[{"per": "completion", "amount": 1.5}]), VirtualClock(START_US))
        self.participants = Participants(self.database, SECRET)

    async def first(self, number: int = 1) -> LoadedSession:
        identity = self.participants.entry("weeks", WHO, number, proven=False)
        data = {"proof": "none", **({SAME_ID: True} if number > 1 else {})}
        await self.begin("", identity=identity, data=data)
        return (await self.finish()).live

    async def next(self, session: LoadedSession) -> LoadedSession:
        person = person_of(self.database, session.stream)
        assert person is not None
        self.clock.set(START_US + len(person.streams) * 8 * DAY_US)
        stream = str(uuid4())
        identity = self.participants.entry_of_wave(WHO, stream)
        self.live = await self.service.begin_wave(person, stream=stream, identity=identity)
        return (await self.finish()).live

    def due(self) -> list[tuple[int, str, Decimal, bool]]:
        found = payees(self.database, self.participants, "weeks", self.clock.now_us())
        return [(one.number, one.wave, one.due, one.second) for one in found]


@pytest.fixture
async def weeks(tmp_path: Path) -> AsyncIterator[Weeks]:
    async with Weeks(tmp_path) as found:
        yield found


async def test_each_wave_is_paid_once_and_not_to_another_who_gives_the_same_id(weeks: Weeks, tmp_path: Path) -> None:
    mine, other = await weeks.first(), await weeks.first(2)
    await weeks.next(other)
    await weeks.next(mine)
    one = Decimal("1.50")
    assert weeks.due() == [
        (1, "week-1", one, False), (2, "week-1", one, True), (3, "week-2", one, True), (4, "week-2", one, False),
    ]  # fmt: skip
    request = PaymentRequest("weeks", tmp_path / "pay")
    runs = [run_payments(weeks.database, weeks.participants, request, weeks.clock.now_us()) for _ in range(2)]
    assert [sum(payment.payee.due for payment in run.payments) for run in runs] == [2 * one, 0]
    (file,) = (tmp_path / "pay").glob("payments-*-1.csv")
    with file.open(encoding="utf-8", newline="") as text:
        assert [row["wave"] for row in csv.DictReader(text)] == ["week-1", "week-1", "week-2", "week-2"]


async def test_an_exclusion_is_of_all_waves_also_of_those_to_come(weeks: Weeks) -> None:
    first = await weeks.first()
    second = await weeks.next(first)
    done = await add_remark(weeks.service, weeks.database, second.stream, "excluded", "A bot.", "ann")
    assert {*done} == {first.stream, second.stream}
    await weeks.next(first)
    found = payees(weeks.database, weeks.participants, "weeks", weeks.clock.now_us())
    assert [one.excluded for one in found] == ["A bot."] * 3
    assert len(await add_remark(weeks.service, weeks.database, first.stream, "included", "No bot.", "ann")) == 3
    found = payees(weeks.database, weeks.participants, "weeks", weeks.clock.now_us())
    assert [one.excluded for one in found] == [None] * 3
