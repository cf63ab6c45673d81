"""Submissions from their start to the last bonus, against the fake of Prolific: whatever stops, all are paid once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import event

from app.clock import VirtualClock
from app.recruiters.prolific import STATUS_CHANGE, WEBHOOK, Prolific
from app.session.service import Sessions
from app.studies.loader import load_study
from app.use_cases.submissions import (
    RULE,
    RecruitedStudy,
    ask,
    ask_bonuses,
    carry_out,
    free_places,
    numbered,
    plan_bonuses,
    poll,
    review,
    to_approve,
)
from experiments.errors import NotPossible
from experiments.events import Action
from storage.db.engine import open_database
from storage.payments.payment_files import PaymentRequest, recorded_files, run_payments
from storage.payments.submissions import observations_in
from storage.registers.participants import Participants
from tests.fakes.forked import Forked
from tests.fakes.http_server import Fault, GoneAway
from tests.fakes.prolific_api import TOKEN, WORKSPACE, Delivery
from tests.fakes.recruited import START_US, Live, client_of, live
from tests.fakes.served import SECRET, serving, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
REASON = "The answers to all three attention checks were other than those that the instructions above asked for."


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Live]:
    with live(tmp_path) as found:
        yield found


@pytest.fixture
def recruited(here: Live) -> Iterator[RecruitedStudy]:
    with client_of(here.fake) as client:
        yield here.recruited(client)


async def take_part(here: Live, count: int, seed: int) -> None:
    """People who do all that people do, in an order of chance; the seats that Prolific frees are taken by others."""
    chance, going = random.Random(seed), [await here.join() for _ in range(count)]
    while going:
        submission = going.pop(chance.randrange(len(going)))
        match chance.choices(["complete", "return", "time out", "decline", "return later"], [70, 10, 10, 5, 5])[0]:
            case "complete":
                await here.complete(submission)
            case "return":
                here.fake.give_back(submission)
            case "time out":
                here.fake.time_out(submission)
            case "decline":
                await here.decline(submission)
            case _:
                await here.complete(submission)
                here.fake.give_back(submission)
        here.clock.advance(chance.random())


def settle(recruited: RecruitedStudy) -> None:
    """What the server does again and again, and a researcher who agrees to the bonuses."""
    ready = to_approve(recruited)
    if ready:
        ask(recruited, "approve", ready, RULE)
    carry_out(recruited)
    planned = plan_bonuses(recruited)
    if planned.payments and not any(act.is_open for act in recruited.acts()):
        ask_bonuses(recruited, f"{planned.total:.2f}", "ada")
        carry_out(recruited)


def ends(here: Live) -> Counter[tuple[str, bool, int, int]]:
    """Each session: its status as Parley knows it, whether its place was freed, the bonuses that the log has, and those
    that Prolific paid, in cents."""
    people = Participants(here.database, SECRET)
    freed = dict(query(here.database, "SELECT stream, released_us FROM seat"))
    paid: Counter[str] = Counter()
    for stream, data in query(here.database, "SELECT stream, data FROM event WHERE kind = 'paid'"):
        paid[stream] += int(Decimal(json.loads(data)["amount"]) * 100)
    with here.database.connect() as connection:
        known = observations_in(connection, "prolific")
    return Counter(
        (
            known[people.submission_mark("prolific", submission)].status,
            freed[stream] is not None,
            paid[stream],
            sum(here.fake.submissions[submission]["bonus_payments"]),
        )
        for submission, stream in here.sessions.items()
    )


def right_ends(here: Live) -> Counter[tuple[str, bool, int, int]]:
    """The same, as what people did at Prolific implies."""
    found: Counter[tuple[str, bool, int, int]] = Counter()
    outcomes = dict(query(here.database, "SELECT stream, outcome FROM seat"))
    for submission, stream in here.sessions.items():
        status = here.fake.submissions[submission]["status"].replace("-", " ")
        cents = 25 if status == "APPROVED" else 0
        found[status, status in ("RETURNED", "TIMED OUT") and outcomes[stream] is None, cents, cents] += 1
    return found


@pytest.mark.parametrize(
    "ways", [("webhook",), ("list",), pytest.param(("webhook", "list"), marks=pytest.mark.nightly)], ids="-".join
)
async def test_each_way_by_itself_comes_to_the_same_end(
    here: Live, recruited: RecruitedStudy, ways: Sequence[str]
) -> None:
    chance = random.Random(7)
    settings = settings_for(here.folder, prolific_url=here.fake.url, prolific_token=TOKEN)
    async with serving(settings, clock=here.clock) as served:
        if "webhook" in ways:
            recruited.client.subscribe(STATUS_CHANGE, f"{served.url}{WEBHOOK}", WORKSPACE)
        await take_part(here, 20, seed=3)
        await deliver(here, chance)
        if "list" in ways:
            poll(recruited)
        for _ in range(3):
            settle(recruited)
            await deliver(here, chance)
            if "list" in ways:
                poll(recruited)
        assert ends(here) == right_ends(here)
        assert {status for status, *_ in right_ends(here)} >= {"APPROVED", "RETURNED", "TIMED OUT", "AWAITING REVIEW"}
        requests = [path for _, path in here.fake.changes if "bonus" in path or "approve" in path]
        settle(recruited)
        assert requests == [path for _, path in here.fake.changes if "bonus" in path or "approve" in path]


async def deliver(here: Live, chance: random.Random) -> None:
    """Whatever waits, some of it twice, in an order of chance; what is forged is refused."""
    waiting = [*here.fake.outbox, *chance.sample(here.fake.outbox, len(here.fake.outbox) // 4)]
    here.fake.outbox.clear()
    chance.shuffle(waiting)
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        for one in waiting:
            forged = one.body.replace(b'"status": "', b'"status": "RETURNED').replace(b"RETURNEDRETURNED", b"RETURNED")
            answers = [
                await client.post(one.url, content=body, headers=dict(one.headers)) for body in (forged, one.body)
            ]
            assert [answer.status_code for answer in answers][1:] == [200]
            assert answers[0].status_code == 401 or forged == one.body
            assert SECRET not in answers[0].text
            assert here.fake.secret not in answers[0].text


async def test_an_event_is_taken_once_and_an_old_one_not_at_all(here: Live, recruited: RecruitedStudy) -> None:
    settings = settings_for(here.folder, prolific_url=here.fake.url, prolific_token=TOKEN)
    async with serving(settings, clock=here.clock) as served, httpx2.AsyncClient(timeout=60) as client:
        recruited.client.subscribe(STATUS_CHANGE, f"{served.url}{WEBHOOK}", WORKSPACE)
        submission = await here.join()
        here.fake.give_back(submission)
        (_, began, over) = here.fake.outbox

        async def post(one: Delivery, **more: str) -> int:
            headers = {**one.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
            return (await client.post(one.url, content=one.body, headers=headers)).status_code

        assert [await post(over), await post(over), await post(began), await post(began)] == [200] * 4
        assert await post(began, x_event_id="another", x_timestamp="1890000000") == 200
        observed = query(here.database, "SELECT data FROM event WHERE kind = 'observed'")
        assert [json.loads(data)["status"] for (data,) in observed] == ["RETURNED", "ACTIVE", "ACTIVE"]
        here.clock.advance(301)
        assert await post(over) == 401
        for _ in "twice":
            free_places(recruited)
        assert ends(here) == Counter({("RETURNED", True, 0, 0): 1})
        assert (await client.post(served.url + WEBHOOK, content=b"{}")).status_code == 401
    async with serving(settings_for(here.folder), clock=here.clock) as served, httpx2.AsyncClient(timeout=60) as client:
        assert (
            await client.post(served.url + WEBHOOK, content=over.body, headers=dict(over.headers))
        ).status_code == 503


def work(folder: str, url: str, id_: str) -> None:
    """A server of its own, which polls, approves and pays until it is killed or all is done."""
    database, clock = open_database(f"sqlite:///{folder}/parley.db"), VirtualClock(int(Path("clock").read_text()))
    with Prolific(url, TOKEN, sleep=lambda _: None) as client:
        people, study = Participants(database, SECRET), load_study(f"{folder}/paid.yaml")
        recruited = RecruitedStudy(database, people, client, clock, study, (id_,), Decimal(1_000))
        for _ in range(6):
            poll(recruited)
            settle(recruited)
            clock.advance(1_000)
    database.dispose()


@pytest.mark.timeout(300)  # what the processes are forked from may have to import first
@pytest.mark.parametrize("people", [30, pytest.param(200, marks=pytest.mark.nightly)])
async def test_many_submissions_and_two_kills(
    here: Live, recruited: RecruitedStudy, tmp_path: Path, people: int
) -> None:
    await take_part(here, people, seed=5)
    # kill -9: when the approvals are carried out and not answered, and when the bonuses are asked for, and paid or not
    moments = [("POST submissions/bulk-approve/", True), ("POST bulk-bonus-payments/", True)]

    def witness(request: str, done: bool) -> None:
        if moments and request.startswith(moments[0][0]) and done == moments[0][1]:
            moments.pop(0)
            os.kill(process.pid, signal.SIGKILL)
            raise GoneAway

    here.fake.witness = witness
    codes = []
    for number in range(3):
        (tmp_path / "clock").write_text(str(here.clock.now_us()))
        process = Forked(
            work, str(tmp_path), here.fake.url, here.ids[0], folder=tmp_path, out=tmp_path / f"{number}.txt"
        )
        codes.append(await asyncio.to_thread(process.wait))
        here.clock.advance(6_000)
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0], (tmp_path / "2.txt").read_text()
    assert ends(here) == right_ends(here)
    found = Counter(status for status, *_ in right_ends(here).elements())
    assert sum(found.values()) == people
    assert set(found) == {"APPROVED", "AWAITING REVIEW", "RETURNED", "TIMED OUT"}
    assert len(here.fake.bonus_runs) == 1


async def test_whatever_stops_it_at_whichever_moment_everybody_is_paid_once(
    tmp_path: Path, seed: int, soak: bool
) -> None:
    """Stopped before and after each request and each write, of which a short run tries a fifth, and gone on with."""
    step = 1 if soak else 5
    moment = seed % step
    while True:
        moment += step
        folder = tmp_path / f"{moment}"
        folder.mkdir()
        with live(folder) as here, client_of(here.fake) as client:
            for _ in range(2):
                await here.complete(await here.join())
            over = await here.join()
            here.fake.give_back(over)
            stopped = await asyncio.to_thread(stop_at, moment, here, here.recruited(client))
            for _ in range(4):
                poll(here.recruited(client))
                settle(here.recruited(client))
                here.clock.advance(1_000)
            assert ends(here) == Counter({("APPROVED", False, 25, 25): 2, ("RETURNED", True, 0, 0): 1}), moment
            assert len([path for _, path in here.fake.changes if path.endswith("/pay/")]) == 1, moment
        if not stopped:
            break
    assert moment > 12


class Stopped(BaseException):
    """As `kill -9`: nothing catches it, and what is in the database and at Prolific stays."""


def stop_at(moment: int, here: Live, recruited: RecruitedStudy) -> bool:
    """Poll and pay until that moment; whether it came."""
    passed = 0

    def touch(*_: object) -> None:
        nonlocal passed
        passed += 1
        if passed == moment:
            raise Stopped

    class Touched:
        """The client, stopped before or after what changes something."""

        def __getattr__(self, name: str) -> Any:
            def asked(*given: Any) -> Any:
                touch()
                answer = getattr(recruited.client, name)(*given)
                touch()
                return answer

            return getattr(recruited.client, name) if name in ("submission", "submissions") else asked

    event.listen(here.database, "commit", touch)
    try:
        for _ in range(3):
            poll(recruited)
            settle(replace(recruited, client=Touched()))  # type: ignore[arg-type]
    except Stopped:
        return True
    finally:
        event.remove(here.database, "commit", touch)
    return False


async def test_the_files_and_the_api_never_both_pay(here: Live, recruited: RecruitedStudy, tmp_path: Path) -> None:
    for _ in range(2):
        await here.complete(await here.join())
    poll(recruited)
    before = query(here.database, "SELECT count(*) FROM event")
    total = str(plan_bonuses(recruited).total)
    assert total == "0.50"
    assert (query(here.database, "SELECT count(*) FROM event"), len(here.fake.bonus_runs)) == (before, 0)
    with pytest.raises(NotPossible):
        ask_bonuses(recruited, "0.25", "ada")
    with pytest.raises(NotPossible):
        ask_bonuses(replace(recruited, most=Decimal("0.66")), total, "ada")
    assert ask_bonuses(replace(recruited, most=Decimal("0.67")), total, "ada").cents == 67
    run = run_payments(here.database, recruited.participants, PaymentRequest("paid", tmp_path / "out"), 0)
    assert not run.payments
    assert not plan_bonuses(recruited).payments
    with pytest.raises(NotPossible):
        ask_bonuses(recruited, "0.00", "ada")
    assert not recorded_files(recruited.payees()), "no file to upload stands for what the API pays"
    here.fake.available = 0
    (act,) = carry_out(recruited)
    assert (act.result, here.fake.submissions[next(iter(here.sessions))]["bonus_payments"]) == ("refused", [])
    assert str(plan_bonuses(recruited).total) == total, "what Prolific refused is due again"
    paid = run_payments(here.database, recruited.participants, PaymentRequest("paid", tmp_path / "out"), 0)
    assert len(paid.payments) == 2
    assert not plan_bonuses(recruited).payments


async def test_a_lost_answer_is_looked_up_before_anything_is_paid_again(here: Live, recruited: RecruitedStudy) -> None:
    await here.complete(await here.join())
    poll(recruited)
    lost, broken, busy = (Fault(**said, on="POST bulk") for said in ({"lose": True}, {"status": 502}, {"status": 429}))
    for faults, soon, later in (([lost], ("done", 1), 1), ([broken], ("lost", 1), 2), ([busy] * 3, ("done", 2), 2)):
        here.fake.faults = [*faults]
        ask_bonuses(recruited, f"{plan_bonuses(recruited).total:.2f}", "ada")
        carry_out(recruited)
        here.clock.advance(60)
        *_, act = carry_out(recruited)
        assert (act.result, act.attempts) == soon
        here.clock.advance(1_800)
        *_, act = carry_out(recruited)
        assert (act.result, act.attempts) == ("done", later)
        await here.complete(await here.join())
        poll(recruited)
    assert Counter(sum(one["bonus_payments"]) for one in here.fake.submissions.values()) == {25: 3, 0: 1}


async def test_a_study_that_was_recruited_twice_knows_the_people_of_both(here: Live, recruited: RecruitedStudy) -> None:
    await here.complete(await here.join())
    here.recruit()
    await here.complete(await here.join())
    both = replace(recruited, ids=tuple(here.ids))
    poll(both)
    ask(both, "message", both.payees(), "ada", "Thank you.")
    for left in ("0.25", "0.25"):
        assert str(plan_bonuses(both).total) == left, "Prolific pays those of one study at a time"
        ask_bonuses(both, left, "ada")
        carry_out(both)
    assert not plan_bonuses(both).payments
    assert [one["bonus_payments"] for one in here.fake.submissions.values()] == [[25], [25]]
    assert [one["study"] for one in here.fake.messages] == here.ids
    assert {act.result for act in both.acts()} == {"done"}


async def test_nothing_is_rejected_but_by_a_persons_word_with_a_reason(here: Live, recruited: RecruitedStudy) -> None:
    good, failed, going = [await here.join() for _ in range(3)]
    await here.complete(good)
    await here.complete(failed)
    poll(recruited)
    numbers = {payee.submission: payee.number for payee in recruited.payees()}
    log = Sessions(here.database, here.clock)
    await log.act(
        here.sessions[failed], Action("excluded", "", {"why": "copied", "who": "ada"}, START_US, by="researcher")
    )
    await log.close()
    said = {payee.submission: review(payee) for payee in recruited.payees()}
    assert [said[id_].todo for id_ in (good, failed, going)] == ["approve", "review", "wait"]
    (payee,) = numbered(recruited, [numbers[failed]])
    before = len(observed_acts(here))
    for text, category in (("no " * 33, "OTHER"), (REASON, "NO_SUCH"), (" " * 200, "OTHER")):
        with pytest.raises(NotPossible):
            ask(recruited, "reject", [payee], "ada", text, category)
    with pytest.raises(NotPossible):
        ask(recruited, "reject", numbered(recruited, [numbers[going]]), "ada", REASON, "OTHER")
    with pytest.raises(NotPossible):
        numbered(recruited, [99])
    assert len(observed_acts(here)) == before, "what is refused leaves no trace"
    ask(recruited, "reject", [payee], "ada", REASON, "FAILED_CHECK")
    with pytest.raises(NotPossible):
        ask(recruited, "approve", [payee], "bob")
    ask(recruited, "message", numbered(recruited, [numbers[good]]), "ada", "Thank you.")
    ask(recruited, "return", numbered(recruited, [numbers[good]]), "ada", "You asked for it.")
    assert {act.result for act in carry_out(recruited)} == {"done"}
    statuses = {id_: one["status"] for id_, one in here.fake.submissions.items()}
    assert statuses == {good: "AWAITING REVIEW", failed: "REJECTED", going: "ACTIVE"}
    assert here.fake.submissions[good]["return_requested"]
    assert [one["body"] for one in here.fake.messages] == ["Thank you."]
    events = [json.loads(data) for (data,) in observed_acts(here)]
    assert {event["who"] for event in events if "who" in event} == {"ada"}
    ids = {value for one in here.fake.submissions.values() for value in (one["id"], one["participant_id"])}
    assert not any(id_ in json.dumps(events) for id_ in ids), "no id of Prolific's is in the log"


def observed_acts(here: Live) -> list[tuple[Any, ...]]:
    return query(here.database, "SELECT data FROM event WHERE kind IN ('asked', 'sent', 'settled', 'observed')")
