"""`parley payments`: what the files hold to the byte, and that nobody is paid twice, whenever it is killed."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import app
from app.clock import VirtualClock
from app.session.service import Sessions
from app.use_cases.recruit import release_places
from experiments.events import Action
from experiments.session.desk import RESUBMITTED
from storage.db.engine import open_database
from storage.log.seats import last_us as last_us_of
from storage.payments.payment_files import PaymentRequest, run_payments
from storage.payments.payments import Payee, Payment, payees, record
from storage.payments.prolific import lists
from storage.registers.participants import ParticipantId, Participants
from storage.reports.sessions import SessionQuery, sessions
from tests.fakes.forked import forking
from tests.fakes.killed import kill_at_every_touch
from tests.fakes.payees import Somebody, copies, erase_id, pid, take_part
from tests.fakes.served import SECRET

ANN, BOB, CAT = pid(1), pid(2), pid(3)
HAL = ParticipantId("prolific", pid(8))
PEOPLE = (
    Somebody("prolific", ANN, 4),
    Somebody("prolific", BOB, 2),
    Somebody("prolific", CAT, 0),
    Somebody("prolific", pid(4), outcome="no_consent"),
    Somebody("prolific", pid(5), outcome="screened_out"),
    Somebody("prolific", pid(6), outcome="timed_out"),
    Somebody("prolific", pid(7), outcome="technical_failure"),
    Somebody("prolific", HAL.id, outcome="withdrawn"),
    Somebody("prolific", pid(9), outcome="live"),
    Somebody("prolific", "6a,99.00\n6b", 4),
    Somebody("panel", "=1+1", 1),
    Somebody("open", "", 4),
)
BONUS, APPROVE, OVERVIEW = "prolific-bonus-DAY-1.csv", "prolific-approve-DAY-1.csv", "payments-DAY-1.csv"
Pay = Callable[..., Result]


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database in which all of PEOPLE took part."""
    folder = tmp_path_factory.mktemp("taken")
    asyncio.run(take_part(folder, *PEOPLE))
    erase_id(folder / "parley.db", "paid", HAL)
    return folder


@pytest.fixture
def place(taken: Path, tmp_path: Path) -> Path:
    return shutil.copytree(taken, tmp_path / "place")


@pytest.fixture
def pay(place: Path, monkeypatch: pytest.MonkeyPatch) -> Pay:
    monkeypatch.chdir(place)
    settings = {"PARLEY_DATABASE_URL": "sqlite:///parley.db", "PARLEY_SECRET": SECRET, "COLUMNS": "200"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return lambda *words: CliRunner().invoke(app, ["payments", "paid", "-o", "out", *words])


def found(folder: Path) -> dict[str, bytes]:
    there = folder.iterdir() if folder.is_dir() else []
    return {re.sub(r"\d{4}-\d\d-\d\d", "DAY", path.name): path.read_bytes() for path in there if path.is_file()}


def people(url: str) -> tuple[Payee, ...]:
    database = open_database(url)
    read = payees(database, Participants(database, SECRET), "paid", now_us=0)
    database.dispose()
    return read


def test_the_files_hold_exactly_who_is_to_be_paid(pay: Pay, place: Path) -> None:
    done = pay()
    assert done.exit_code == 0, done.output
    assert found(place / "out") == {
        BONUS: f"{ANN},0.40\n{BOB},0.20\n".encode(),
        APPROVE: f"{ANN}\n{BOB}\n{CAT}\n".encode(),
        "prolific-return-DAY-1.csv": f"{pid(4)}\n".encode(),
        "prolific-screened-out-DAY-1.csv": f"{pid(5)}\n".encode(),
        OVERVIEW: (
            "recruiter,id,session,outcome,bonus,paid_before,attention_checks_failed,minutes,excluded\n"
            f"prolific,{ANN},1,complete,0.40,0.00,0,9.0,\n"
            f"prolific,{BOB},2,complete,0.20,0.00,1,9.0,\n"
            f"prolific,{CAT},3,complete,0.00,0.00,1,9.0,\n"
            f"prolific,{pid(4)},4,no_consent,0.00,0.00,0,0.0,\n"
            f"prolific,{pid(5)},5,screened_out,0.00,0.00,0,0.0,\n"
            f"prolific,{pid(6)},6,timed_out,0.00,0.00,0,60.0,\n"
            f"prolific,{pid(7)},7,technical_failure,0.00,0.00,0,0.0,\n"
            "prolific,,8,withdrawn,0.00,0.00,0,,\n"
            f"prolific,{pid(9)},9,left,0.00,0.00,0,,\n"
            'prolific,"6a,99.00\n6b",10,complete,0.40,0.00,0,9.0,\n'
            "panel,'=1+1,11,complete,0.10,0.00,1,9.0,\n"
            "open,,12,complete,0.40,0.00,0,9.0,\n"
        ).encode(),
    }
    assert "1 (an id that Prolific cannot have given)" in done.output
    assert "outcomes.withdrawn" in done.output, "no code is named that the study does not have"


def test_what_is_paid_is_in_the_log_and_the_next_run_holds_only_what_is_new(pay: Pay, place: Path) -> None:
    pay()
    (bonus,) = (path.name for path in (place / "out").glob("prolific-bonus-*"))
    assert {payee.id: dict(payee.paid) for payee in people("sqlite:///parley.db") if payee.paid} == {
        ANN: {bonus: Decimal("0.40")},
        BOB: {bonus: Decimal("0.20")},
    }
    before = found(place / "out")
    pay()
    after = found(place / "out")
    assert {name: after[name] for name in before} == before, "nothing is overwritten"
    assert not [name for name in after if name.startswith("prolific-bonus") and name not in before]
    assert f"prolific,{ANN},1,complete,0.40,0.40,0,9.0,\n".encode() in after["payments-DAY-2.csv"]
    shutil.move("out", "elsewhere")
    assert pay().exit_code == 0
    assert not [name for name in found(place / "out") if "bonus" in name]
    assert "payments-DAY-3.csv" not in found(place / "elsewhere")


def test_an_excluded_session_is_paid_only_if_somebody_says_so(pay: Pay, place: Path) -> None:
    CliRunner().invoke(app, ["session", "exclude", "paid", "1", "--reason", "a friend, ann"])
    left = json.loads(pay("--dry-run", "--json").output)["sessions"][0]
    assert (left["excluded"], left["in_new_files"], left["left_out"]) == (
        "a friend, ann",
        0,
        "excluded by a researcher",
    )
    assert json.loads(pay("--dry-run", "--json", "--pay-excluded").output)["sessions"][0]["in_new_files"] == 0.4
    said = pay().output
    assert re.search(r"session 1: a friend, ann \(0\.40\)", said)
    assert "--pay-excluded" in said
    there = found(place / "out")
    assert (there[BONUS], there[APPROVE]) == (f"{BOB},0.20\n".encode(), f"{BOB}\n{CAT}\n".encode())
    assert f'prolific,{ANN},1,complete,0.40,0.00,0,9.0,"a friend, ann"\n'.encode() in there[OVERVIEW]
    pay("--pay-excluded")
    assert found(place / "out")["prolific-bonus-DAY-2.csv"] == f"{ANN},0.40\n".encode()


def test_a_dry_run_writes_and_records_nothing(pay: Pay, place: Path) -> None:
    before = (place / "parley.db").read_bytes()
    done = pay("--dry-run")
    assert done.exit_code == 0, done.output
    assert not (place / "out").exists()
    assert (place / "parley.db").read_bytes() == before
    pay()
    assert BONUS in found(place / "out"), "what was only said has no number taken"


@pytest.mark.parametrize(
    ("status", "paid", "approved"),
    [
        ("RETURNED", False, False),
        ("APPROVED", True, False),
        ("ACTIVE", False, False),
        ("ACTIVE+APPROVED", True, False),
        ("RETURNED+AWAITING REVIEW", True, True),
    ],
)
def test_prolifics_statuses_decide_who_is_left_out(
    status: str, paid: bool, approved: bool, pay: Pay, place: Path
) -> None:
    lines = [(ANN, word) for word in status.split("+") if word]
    lines += [(BOB, "APPROVED"), (CAT, "AWAITING REVIEW"), (pid(4), "RETURNED"), (pid(77), "APPROVED")]
    with Path("status.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([("Submission id", "Participant id", "Status"), *((1, *line) for line in lines)])
    pay("--prolific-export", "status.csv")
    files = found(place / "out")
    assert files[BONUS] == (f"{ANN},0.40\n" if paid else "").encode() + f"{BOB},0.20\n".encode()
    assert files[APPROVE] == (f"{ANN}\n" if approved else "").encode() + f"{CAT}\n".encode()
    assert not [name for name in files if "return" in name], "they have returned it by themselves"


def test_payments_and_the_list_of_sessions_say_the_same_of_a_session(place: Path) -> None:
    database = open_database(f"sqlite:///{place}/parley.db")
    known, last_us = (database, Participants(database, SECRET)), last_us_of(database)
    for words in ("live", "left"):
        (listed,) = sessions(database, "paid", SessionQuery("9"), last_us).entries
        (payee,) = [one for one in payees(*known, "paid", last_us) if one.number == 9]
        assert (listed.stands, payee.outcome) == (words, words)
        release_places(*known, "paid", {pid(9): "RETURNED"}, "ada", VirtualClock(last_us))
    database.dispose()


def test_a_submission_after_the_freed_one_is_paid(place: Path) -> None:
    database = open_database(f"sqlite:///{place}/parley.db")
    known, last_us = (database, Participants(database, SECRET)), last_us_of(database)
    release_places(*known, "paid", {ANN: "RETURNED"}, "ada", VirtualClock(last_us))
    log = Sessions(database, VirtualClock(last_us + 1))
    note = Action("noted", "", {"what": RESUBMITTED}, last_us + 1, by="researcher")
    asyncio.run(log.act(payees(*known, "paid", last_us)[0].stream, note))
    asyncio.run(log.close())
    assert ANN in lists(payees(*known, "paid", last_us), None).bonus
    database.dispose()


def test_at_most_two_hundred_bonuses_are_in_a_file(pay: Pay, place: Path) -> None:
    ids = copies(place / "parley.db", ANN, 399)
    pay()
    files = found(place / "out")
    parts = [files[f"prolific-bonus-DAY-1-part-{number}.csv"].decode().splitlines() for number in (1, 2, 3)]
    assert [len(part) for part in parts] == [200, 200, 1]
    lines = [line for part in parts for line in part]
    assert lines == [f"{ANN},0.40", f"{BOB},0.20", *(f"{id_},0.40" for id_ in ids)]
    pay()
    assert not [name for name in found(place / "out") if re.match("prolific-bonus-DAY-[23]", name)]


def bonuses(*folders: Path) -> Counter[str]:
    """Every line of every bonus file, as somebody would upload it."""
    files = (path for folder in folders for path in folder.glob("prolific-bonus-*.csv"))
    return Counter(line for path in files for line in path.read_text(encoding="utf-8").splitlines())


def test_nobody_is_paid_twice_though_six_pay_at_once(place: Path) -> None:
    database = open_database(f"sqlite:///{place}/parley.db")
    folders = [place / str(number % 3) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        identities = Participants(database, SECRET)
        list(pool.map(lambda folder: run_payments(database, identities, PaymentRequest("paid", folder), 0), folders))
    database.dispose()
    assert bonuses(*set(folders)) == {f"{ANN},0.40": 1, f"{BOB},0.20": 1}
    assert not [path for path in place.rglob("*.part")]


@pytest.mark.slow
def test_whenever_it_is_killed_the_next_run_pays_everybody_once(place: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    context = forking()
    process = context.Process(target=kill_at_every_touch, args=(place, SECRET, copies))
    process.start()
    process.join()
    assert process.exitcode == 0
    ends = sorted(copies.iterdir(), key=lambda path: int(path.name))
    recorded = [_paid_at_last(f"sqlite:///{end}/parley.db", end / "out") for end in ends]
    assert recorded.index(True) > 6, "killed before all was written, nobody was paid"
    assert recorded.count(True) > 6, "and before each file was moved"


def _paid_at_last(url: str, folder: Path) -> bool:
    """Whether a run that was killed had recorded what it pays; the next run does what is left to do."""
    paid = {file for payee in people(url) for file in payee.paid}
    assert {path.name for path in folder.glob("prolific-bonus*")} <= paid, "what can be uploaded is recorded"
    database = open_database(url)
    run = run_payments(database, Participants(database, SECRET), PaymentRequest("paid", folder), 0)
    database.dispose()
    assert bonuses(folder) == {f"{ANN},0.40": 1, f"{BOB},0.20": 1}
    assert not list(folder.glob(".*")), "nothing with ids in it is left behind"
    assert not (run.moved and run.swept)
    return bool(paid)


def test_a_raise_pays_the_difference_and_nothing_is_taken_back(pay: Pay, place: Path) -> None:
    database = open_database("sqlite:///parley.db")
    ann, bob, *_ = people("sqlite:///parley.db")
    too_much = {"earned": Decimal("0.30")}, {"earned": Decimal("9.00")}
    given = [Payment(_but(payee, **change), "by-hand.csv") for payee, change in zip((ann, bob), too_much, strict=True)]
    record(database, given, "by-hand", at_us=0)
    database.dispose()
    pay()
    assert found(place / "out")[BONUS] == f"{ANN},0.10\n".encode()


def _but(payee: Payee, **change: Decimal) -> Payee:
    return Payee(**{name: change.get(name, getattr(payee, name)) for name in Payee.__slots__})
