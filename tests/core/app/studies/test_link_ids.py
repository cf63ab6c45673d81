"""Ids in recruiters' links: every spelling of a name is read, what is no id is never taken, and nothing is passed over
unsaid."""

import re
import unicodedata
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.link_ids import GENERAL, ID, RECRUITERS, LinkIds, UnreadableId, clean_id, read_ids
from experiments.study.sections.recruitment import Recruitment
from storage.registers.participants import ParticipantId

PID = "5f3a0c6e9d1b2a7c4e8f0d12"
ANY = Recruitment()


def read(query: str, **wanted: object) -> LinkIds:
    return read_ids(parse_qsl(query, keep_blank_values=True), Recruitment.model_validate(wanted))


UNFILLED = [
    "{{%PROLIFIC_PID%}}", "{{PROLIFIC_PID}}", "{PROLIFIC_PID}", "[ID]", "[%PID%]", "${e://Field/PROLIFIC_PID}", "%ID%",
    "%SURVEY_CODE%", "<id>", "$id", "#ID#", "__ID__", "@PID@", "PROLIFIC_PID", "undefined", "null", "None", "", " ",
    '"{{%PROLIFIC_PID%}}"', "{{", "ASSIGNMENT_ID_NOT_AVAILABLE", "[object Object]", "YOUR_ID_HERE", "\u200b", "''",
]  # fmt: skip


@pytest.mark.parametrize("value", UNFILLED)
@pytest.mark.parametrize("name", ["PROLIFIC_PID", "workerId", "pid"])
def test_a_placeholder_is_no_id(name: str, value: str) -> None:
    assert read_ids([(name, value)], ANY) == LinkIds(unreadable=UnreadableId("unfilled", name))


@pytest.mark.parametrize(("value", "id_"), [
    (f" {PID}\t", PID), (f"\u200b{PID}\ufeff", PID), (f"5f3a\u200d{PID}", f"5f3a{PID}"), (f'"{PID}"', PID),
    (f"“{PID}”", PID), ("a" * 128, "a" * 128), ("a" * 129, ""), ("two words", ""), ("a%40b", ""), ("a\x00b", ""),
    ("Шкд7", "Шкд7"), ("شخص7", "شخص7"), ("参加者7", "参加者7"), ("e\u0301", "é"), ("a\nb", ""), ("a'b", ""),
    ("VgrJ2-9iUQZK3noVDtXobw**", "VgrJ2-9iUQZK3noVDtXobw**"), ("a@b.org", "a@b.org"), ("ab/c+==", "ab/c+=="),
    ("\ufffd", ""), ("<script>", ""), ("7", "7"),
])  # fmt: skip
def test_an_id_has_one_form_or_is_refused(value: str, id_: str) -> None:
    assert clean_id(value) == id_
    assert clean_id(id_) == id_


def test_two_ids_are_not_chosen_from_and_one_id_twice_is_one() -> None:
    for link in ("PROLIFIC_PID=a1&PROLIFIC_PID=b2", "PROLIFIC_PID=a1&prolific_pid=b2", "subject=a1&workerId=b2"):
        for channels in ((), ("prolific", "panel")):
            read_as = read(link, channels=channels)
            assert (read_as.person, read_as.unreadable and read_as.unreadable.reason) == (None, "conflicting")
    assert read("PROLIFIC_PID=a1&prolific_pid=a1").person == ParticipantId("prolific", "a1")
    assert read("pid=a1&PROLIFIC_PID=a1").person == ParticipantId("prolific", "a1"), "the recruiter's own name counts"
    assert read("PROLIFIC_PID=a1&PROLIFIC_PID={{").person == ParticipantId("prolific", "a1"), "nothing is lost"
    assert read("pid=1&psid=2**").person == ParticipantId("panel", "1"), "Dynata gives both"


def test_the_study_says_whose_names_count() -> None:
    both = "PROLIFIC_PID=a1&pid=b2"
    assert read(both, channels=["prolific"]).person == ParticipantId("prolific", "a1")
    assert read(both, channels=["panel"]).person == ParticipantId("panel", "b2")
    assert read("participantId=a1", channels=["panel"]).person == ParticipantId("panel", "a1")
    assert read("id=7", channels=["sona"]).person == ParticipantId("sona", "7")
    assert read("worker_code=a1&id=7", id_parameter="worker_code").person == ParticipantId("panel", "a1")
    assert read("participantId=a1", channels=["prolific"]).person == ParticipantId("connect", "a1"), (
        "known, not accepted"
    )


LOOKALIKES = [
    ("ref", PID, "unknown"), ("x", "A3XK21LMNOP9QR", "unknown"),
    ("token", "00789c4f-1808-41e3-be79-ef4f1682ab48", "unknown"),
    ("panel_id", "17", "unknown"), ("customId", "17", "unknown"), ("workercode", "17", "unknown"),
    ("x", "{{%PROLIFIC_PID%}}", "unfilled"), ("panel_id", "[ID]", "unfilled"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "reason"), LOOKALIKES)
def test_an_unknown_parameter_that_looks_like_an_id_is_said(name: str, value: str, reason: str) -> None:
    found = read_ids([("lang", "de"), (name, value)], ANY)
    assert (found.person, found.unreadable) == (None, UnreadableId(reason, name))  # type: ignore[arg-type]


NAMES = st.one_of(st.text(max_size=12), st.sampled_from([p.id for p in RECRUITERS.values()] + sorted(GENERAL)))


@given(st.lists(st.tuples(NAMES, st.one_of(st.text(max_size=140), st.sampled_from(UNFILLED))), max_size=4),
       st.lists(st.sampled_from(["prolific", "connect", "sona", "panel", "lab", "open"]), max_size=3))  # fmt: skip
def test_any_link_gives_a_clean_id_or_none(items: list[tuple[str, str]], channels: list[str]) -> None:
    found = read_ids(items, Recruitment.model_validate({"channels": channels}))
    if found.person is not None:
        assert ID.fullmatch(found.person.id)
        assert found.person.id == unicodedata.normalize("NFC", found.person.id)
        assert clean_id(found.person.id) == found.person.id
        parts = [part for _, value in items for part in (value, *re.split(r"[?=]", value))]
        assert found.person.id in map(clean_id, parts)
