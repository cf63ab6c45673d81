"""Recruiting, as commands and the console do it: each decision is recorded once; links prove their ID."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from app.clock import VirtualClock
from app.studies.link_ids import LAB, SIGNATURE
from app.use_cases.recruit import decide, personal_links, set_budget, set_quota, signed_links
from experiments.errors import NotPossible
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.registers.participants import Participants
from storage.registers.study_status import operations_of
from tests.fakes.served import SECRET
from tests.fakes.sessions import study

CLOCK = VirtualClock(1_000_000)
STUDY = study("demo")


def test_each_decision_is_recorded_once_and_a_refused_one_not(database: Database) -> None:
    decide(database, "demo", "paused", "ada", CLOCK, "lunch")
    set_quota(database, STUDY, {}, 7, "bob", CLOCK)
    set_budget(database, STUDY, {}, 2.5, "terminal", CLOCK)
    refusals = (
        lambda: decide(database, "demo", "paused", "ada", CLOCK),
        lambda: set_quota(database, STUDY, {}, 1.5, "ada", CLOCK),
        lambda: set_budget(database, STUDY, {}, -1, "ada", CLOCK),
    )
    for refused in refusals:
        with pytest.raises(NotPossible):
            refused()
    now = operations_of(database, "demo")
    assert (now.paused, now.budget, [quota.max for quota in now.quotas_of(())]) == ("lunch", 2.5, [7])
    entries = AuditLog(database, CLOCK.now_us).read()
    assert [(entry.who, entry.about.partition(":")[0]) for entry in reversed(entries)] == [
        *(("ada", "demo"), ("bob", "demo"), ("terminal", "demo"))
    ]


def test_links_are_the_same_each_time_and_prove_one_participant(database: Database) -> None:
    people = Participants(database, SECRET)
    links = personal_links(people, STUDY, "http://at", 10)
    assert [label for label, _ in links] == [f"P{number:02}" for number in range(1, 11)]
    assert people.labelled("demo", parse_qs(urlsplit(links[0][1]).query)[LAB][0]) == "P01"
    assert links == personal_links(people, STUDY, "http://at", 10)
    ((id_, link),) = signed_links(people, STUDY, "http://at", " 4711 \n\n4711\n", "sona")
    assert people.signed("demo", "sona", id_, parse_qs(urlsplit(link).query)[SIGNATURE][0])


@pytest.mark.parametrize(("ids", "recruiter"), [("", "sona"), ("<id>", "sona"), ("4711", ""), ("4711", "sonna")])
def test_no_links_are_made_from_what_is_none(database: Database, ids: str, recruiter: str) -> None:
    with pytest.raises(NotPossible):
        signed_links(Participants(database, SECRET), STUDY, "http://at", ids, recruiter)
