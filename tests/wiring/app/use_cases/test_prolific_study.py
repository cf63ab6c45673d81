"""A study at Prolific: what is sent, what it costs, and that nothing happens twice, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.clock import VirtualClock
from app.config.settings import load
from app.errors import RecruiterRejected, RecruiterUnavailable
from app.recruiters.prolific import Prolific, ProlificStudy
from app.session.service import SessionService
from app.studies.loader import load_study, read_yaml
from app.use_cases.prolific_study import ProlificAct, StudyAtProlific
from app.use_cases.recruit import set_quota
from experiments.errors import NotPossible
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.payments.recruiter_acts import IN_PROGRESS_S
from storage.payments.recruiter_acts import acts as acts_of
from tests.fakes import studies
from tests.fakes.clicks import click
from tests.fakes.http_server import Fault
from tests.fakes.prolific_api import FEE, TOKEN, FakeProlific, prolific_api
from tests.fakes.served import settings_for

# 20 places of 1.50, and 5 screen-outs of 0.20
SUM = "31.00"


class Killed(BaseException):
    """As by `kill -9`: nothing of the process's own runs any more."""


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with prolific_api() as served:
        yield served


@pytest.fixture
def at(fake: FakeProlific, database: Database, tmp_path: Path) -> Iterator[StudyAtProlific]:
    study = load_study(str(studies.recruited(tmp_path)))
    settings = load(database_url="sqlite://", public_url="https://lab.example.org", prolific_url=fake.url)
    with Prolific(fake.url, TOKEN, sleep=lambda _: None) as client:
        yield StudyAtProlific(client, database, settings, study, VirtualClock(10**15), "ada")


def test_what_is_sent_is_what_the_study_says(at: StudyAtProlific, fake: FakeProlific) -> None:
    before = at.look()
    assert (before.there, str(before.due), fake.changes) == (None, f"{SUM} GBP", [])
    assert {one.now for one in before.changes} == {None}
    assert at.act("draft").changes == ()
    (sent,) = fake.studies.values()
    assert sent["external_study_url"] == (
        "https://lab.example.org/s/recruited?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    names = ("name", "total_available_places", "estimated_completion_time", "reward", "status")
    assert [sent[name] for name in names] == ["A talk", 20, 10, 150, "UNPUBLISHED"]
    codes = {one["code"]: (one["code_type"], one["actions"][0]["action"]) for one in sent["completion_codes"]}
    assert codes == {
        "DONE1": ("COMPLETED", "MANUALLY_REVIEW"),
        "OUT1": ("FIXED_SCREENOUT", "FIXED_SCREEN_OUT_PAYMENT"),
        "NOPE1": ("NO_CONSENT", "REQUEST_RETURN"),
        "GONE1": ("OTHER", "REQUEST_RETURN"),
    }
    assert str(before.hourly) == "9.00 GBP"


def test_every_key_of_the_section_is_in_the_draft(at: StudyAtProlific, fake: FakeProlific, tmp_path: Path) -> None:
    told: dict[str, Any] = {"filter_set": "f1", "project": "p1", "add_to_group": "g1", "max_minutes": 60}
    told |= {"devices": ["desktop"], "peripherals": ["audio"], "codes": {"complete": "approve"}, "screen_out": None}
    cells = [{"max": 7, "where": {"help": "much"}}, {"max": 5, "where": {"help": "little"}}]
    raw = read_yaml(studies.recruited(tmp_path, **told)) | {"factors": {"help": ["much", "little"]}, "quotas": cells}
    at = replace(at, study=load_study(str(studies.write(tmp_path, raw))))
    assert at.act("draft").changes == ()
    (sent,) = fake.studies.values()
    named = {
        "total_available_places": 12,
        "filter_set_id": "f1",
        "project": "p1",
        "maximum_allowed_time": 60,
        "filters": [],
    }
    named |= {"device_compatibility": ["desktop"], "peripheral_requirements": ["audio"]}
    assert {name: sent[name] for name in named} == named
    codes = {one["code"]: (one["code_type"], one["actions"]) for one in sent["completion_codes"]}
    joins = {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": "g1"}
    assert codes["DONE1"] == ("COMPLETED", [{"action": "AUTOMATICALLY_APPROVE"}, joins])
    assert codes["OUT1"][0] == "OTHER", "Prolific knows a screen-out by its payment"
    assert "GET projects/p1/studies/" in [f"{method} {path}" for method, path, _ in fake.requests]


@pytest.mark.anyio
async def test_the_minutes_are_the_median_of_complete_sessions_once_there_are_some(
    at: StudyAtProlific, tmp_path: Path
) -> None:
    clock = at.clock
    assert isinstance(clock, VirtualClock)
    service = SessionService(at.database, settings_for(tmp_path), clock)
    service.prepare(at.study)
    for minutes in (3, 30, 4):
        session = await service.enrol(at.study, origin="person")
        clock.advance(60 * minutes)
        await click(service, await click(service, session, agreed="on"), age="30")
    await service.close()
    view = at.look()
    assert (view.measured, view.draft.estimated_completion_time) == (True, 4)


def test_a_new_version_is_another_study_once_the_last_is_over(
    at: StudyAtProlific, fake: FakeProlific, tmp_path: Path
) -> None:
    at.act("draft")
    later = replace(at, study=load_study(str(studies.recruited(tmp_path, description="Talk again."))))
    assert later.look().there is not None
    for one in fake.studies.values():
        one["status"] = "COMPLETED"
    assert (at.look().status, later.look().there) == ("COMPLETED", None)
    assert later.act("draft").status == "UNPUBLISHED"
    assert len(fake.studies) == 2


def test_what_prolific_adds_to_a_study_is_no_difference(
    at: StudyAtProlific, fake: FakeProlific, tmp_path: Path
) -> None:
    filters = [{"filter_id": "handedness", "selected_values": ["2", "1"]}, {"filter_id": "age", "selected_range": {}}]
    study = load_study(str(studies.recruited(tmp_path, filters=filters, add_to_group="g2")))
    at = replace(at, study=study)
    assert at.act("draft").changes == ()
    (there,) = fake.studies.values()
    assert there["filters"] == filters
    there["filters"] = [{**one, "title": "A title"} for one in reversed(there["filters"])]
    there["filters"][1]["selected_values"] = ["1", "2"]
    there["completion_codes"] = [{**one, "id": "c1"} for one in reversed(there["completion_codes"])]
    there["maximum_allowed_time"] = 60
    assert at.look().changes == ()
    there["filters"][1]["selected_values"] = ["1", "3"]
    there["completion_codes"][0]["actions"].clear()
    assert {one.field for one in at.look().changes} == {"filters", "completion_codes"}


def test_a_draft_follows_its_study_and_is_published_for_the_sum_that_a_person_typed(
    at: StudyAtProlific, fake: FakeProlific
) -> None:
    at.act("draft")
    set_quota(at.database, at.study, {}, 30, "bob", at.clock)
    assert [(one.field, one.now, one.wanted) for one in at.look().changes] == [("total_available_places", 20, 30)]
    with pytest.raises(NotPossible):
        at.act("publish", SUM)  # what is there is not what was shown
    at.act("draft")
    for said in ("", "46", SUM, "46.01"):
        with pytest.raises(NotPossible):
            at.act("publish", said)
    assert [study["status"] for study in fake.studies.values()] == ["UNPUBLISHED"]
    assert at.act("publish", "46.00").status == "ACTIVE"
    committed = at.look().committed
    assert committed.cents == ceil(4_600 * (1 + FEE)), "with the fees, as Prolific tells them"
    assert at.act("publish", "46.00").committed == committed, "once"
    with pytest.raises(NotPossible):
        at.act("draft")
    words: tuple[tuple[ProlificAct, str], ...] = (("pause", "PAUSED"), ("pause", "PAUSED"), ("start", "ACTIVE"))
    for word, state in words:
        assert at.act(word).status == state
    set_quota(at.database, at.study, {}, 32, "bob", at.clock)
    assert str(at.look().due) == "3.00 GBP"
    assert at.act("places", "3.00").committed.cents == committed.cents + 399
    assert at.act("places", "3.00").there is not None
    assert at.act("stop").status == "AWAITING REVIEW"
    with pytest.raises(NotPossible):
        at.act("start")
    sent = [path.partition("/")[2].partition("/")[2] for _, path in fake.changes]
    assert sent == ["", "", "transition/", "transition/", "transition/", "", "transition/"], "each once"
    assert {one.who for one in AuditLog(at.database, at.clock.now_us).read() if "Prolific" in one.what} == {"ada"}


@pytest.mark.parametrize("by", ["study", "setting", "funds"])
@pytest.mark.parametrize("tells_cost", [True, False])
def test_a_limit_of_money_is_not_passed(
    at: StudyAtProlific, fake: FakeProlific, tmp_path: Path, by: str, tells_cost: bool
) -> None:
    fake.tells_cost = tells_cost
    section: dict[str, Any] = {} if tells_cost else {"fee_percent": 33}
    if by == "study":
        section["spend_limit"] = "43.22"  # with fees 41.23 are due, and 2.00 for another place
    elif by == "setting":
        at = replace(at, settings=at.settings.model_copy(update={"prolific_spend_limit": Decimal("43.22")}))
    else:
        fake.available = 4_100  # of which Prolific takes 39.90 for the places, and 1.99 for another
    at = replace(at, study=load_study(str(studies.recruited(tmp_path, **section))))
    at.act("draft")
    at.act("publish", SUM)
    set_quota(at.database, at.study, {}, 21, "bob", at.clock)
    with pytest.raises(NotPossible if by != "funds" else RecruiterRejected):
        at.act("places", "1.50")
    assert at.look().committed.cents == 4_123
    assert [study["total_available_places"] for study in fake.studies.values()] == [20]


def test_nothing_is_spent_where_nobody_tells_the_fees(at: StudyAtProlific, fake: FakeProlific) -> None:
    fake.tells_cost = False
    at.act("draft")
    with pytest.raises(NotPossible, match="fee_percent"):
        at.act("publish", SUM)
    fake.tells_cost = True
    at.act("publish", SUM)
    fake.tells_cost = False
    set_quota(at.database, at.study, {}, 21, "bob", at.clock)
    with pytest.raises(NotPossible, match="fee_percent"):
        at.act("places", "1.50")
    assert at.look().committed.cents == 4_123
    assert [study["total_available_places"] for study in fake.studies.values()] == [20]


def test_a_study_that_prolific_still_publishes_is_not_published_again(at: StudyAtProlific, fake: FakeProlific) -> None:
    fake.publishes_at_once = False
    at.act("draft")
    assert at.act("publish", SUM).status == "PUBLISHING"
    changes = len(fake.changes)
    assert at.act("publish", SUM).committed == at.look().committed
    with pytest.raises(NotPossible):
        at.act("pause")
    assert len(fake.changes) == changes
    fake.open_published(next(iter(fake.studies)))
    assert at.act("pause").status == "PAUSED"


@pytest.mark.parametrize("word", ["draft", "publish", "places"])
@pytest.mark.parametrize("lost", ["answer", "process", "process before"])
def test_an_act_whose_answer_was_lost_is_looked_up_and_not_repeated(
    at: StudyAtProlific, fake: FakeProlific, monkeypatch: pytest.MonkeyPatch, word: ProlificAct, lost: str
) -> None:
    said = {"draft": "", "publish": SUM, "places": "3.00"}[word]
    if word != "draft":
        at.act("draft")
    if word == "places":
        at.act("publish", SUM)
        set_quota(at.database, at.study, {}, 22, "bob", at.clock)
    method = {"draft": "create_study", "publish": "transition_study", "places": "update_study"}[word]
    real: Callable[..., ProlificStudy] = getattr(at.client, method)

    def killed(*given: Any) -> ProlificStudy:
        if lost == "process":
            real(*given)
        raise Killed

    if lost == "answer":
        fake.faults.append(Fault(lose=True, on="POST|PATCH"))
    else:
        monkeypatch.setattr(at.client, method, killed)
    with pytest.raises(RecruiterUnavailable if lost == "answer" else Killed):
        at.act(word, said)
    monkeypatch.undo()

    committed = at.look().committed
    assert committed.cents > 0 or word == "draft", "what may have been spent counts"
    if lost == "process before":
        with pytest.raises(NotPossible):  # the other process may still be at it
            at.act(word, said)
    assert isinstance(at.clock, VirtualClock)
    at.clock.advance(IN_PROGRESS_S)
    now = at.act(word, said)
    assert len(fake.studies) == 1
    assert now.committed == committed, "counted once"
    done = {"draft": "UNPUBLISHED", "publish": "ACTIVE", "places": "ACTIVE"}[word]
    assert (now.status, now.changes) == (done, ())
    times = sum(method in ("POST", "PATCH") for method, _ in fake.changes)
    assert times == {"draft": 1, "publish": 2, "places": 3}[word], "sent once"
    assert not any(one.is_open for one in acts_of(at.database, at.study.name).values())


def test_two_who_decide_at_once_make_one_study(at: StudyAtProlific, fake: FakeProlific) -> None:
    view = at.look()
    at.act("draft")
    with pytest.raises(NotPossible):
        at._ask(view, "create", {}, view.committed)
    assert len(fake.studies) == 1


def test_all_that_a_study_lacks_is_said_at_once_and_holds_up_no_pause(
    at: StudyAtProlific, tmp_path: Path, fake: FakeProlific
) -> None:
    at.act("draft")
    at.act("publish", SUM)
    raw = read_yaml(studies.recruited(tmp_path))
    raw["outcomes"].pop("screened_out")
    raw["recruitment"]["channels"], raw["quotas"] = ["panel"], []
    at = replace(at, study=load_study(str(studies.write(tmp_path, raw))), settings=load(prolific_url=fake.url))
    places = [one.partition(":")[0] for one in at.look().lacks]
    assert places == ["outcomes.screened_out", "recruitment.channels", "PARLEY_PUBLIC_URL", "quotas"]
    for word in ("draft", "publish"):
        with suppress(NotPossible):
            assert at.act(word, SUM).status == "ACTIVE"
    assert at.act("pause").status == "PAUSED"
    assert len(fake.changes) == 3


def test_whatever_is_lost_there_is_one_study_and_the_limit_holds(
    at: StudyAtProlific, fake: FakeProlific, seed: int
) -> None:
    """Decisions, each of whose requests may be refused, lost or left without an answer, before or after it."""
    draw, quota, funds = Random(seed), 20, fake.available
    at = replace(at, settings=at.settings.model_copy(update={"prolific_spend_limit": Decimal(50)}))
    kinds = [None, None, Fault(status=503), Fault(lose=True), Fault(status=400)]
    first: list[ProlificAct] = ["draft", "publish"]
    later: list[ProlificAct] = [*first, "places", "places", "pause", "start"]
    for _ in range(40):
        published = any(one["status"] != "UNPUBLISHED" for one in fake.studies.values())
        word, fault = draw.choice(later if published else first), draw.choice(kinds)
        if published:
            quota += 1
            set_quota(at.database, at.study, {}, quota, "bob", at.clock)
        fake.faults = [replace(fault, on="POST|PATCH")] if fault else []
        with suppress(NotPossible, RecruiterRejected, RecruiterUnavailable):
            at.act(word, str(at.look().due.amount))
    fake.faults = []
    assert len(fake.studies) == 1
    assert funds - fake.available <= at.look().committed.cents <= 5_000, "and all that was spent is known"
    assert {one["status"] for one in fake.studies.values()} <= {"ACTIVE", "PAUSED"}
