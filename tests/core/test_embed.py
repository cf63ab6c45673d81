"""A study in a page of another site: which pages may frame it, what they may be sent, and that nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import StudyError
from experiments.session.host_messages import height_message, host_messages
from experiments.study.resolve import resolve
from experiments.study.study import Study
from tests.fakes.checked import AGE, PARTS, PROBLEMS
from tests.fakes.driven import Driven, places

HOST = "https://brand.eu.qualtrics.com"
FLOW: tuple[dict[str, Any], ...] = (
    {"step": "consent", "text": "Do you agree?"},
    {"step": "survey", "id": "about", "questions": [AGE | {"required": False}, PARTS]},
    {"each": "question", "of": "questions", "take": 1, "flow": [{"step": "answer"}]},
    {"step": "finish", "code": "DONE", "url": "https://recruiter.example/done"},
)
NAMES = ("about.age", "about.parts", "consent.agreed")


def embedded(embed: dict[str, Any] | None, *flow: dict[str, Any]) -> Study:
    raw = {"study": "small", "title": "Small", "problems": {"questions": {"source": "jsonl"}}, "flow": flow or FLOW}
    return resolve(json.loads(json.dumps(raw | ({"embed": embed} if embed else {}))), {}, {"questions": PROBLEMS})


def clicked(study: Study, *clicks: dict[str, Any]) -> Driven:
    session = Driven(study)
    for values in clicks:
        session.do(**values)
    return session


def messages(study: Study, *clicks: dict[str, Any]) -> list[dict[str, Any]]:
    return host_messages(study, clicked(study, *clicks).state)


@pytest.mark.parametrize(
    "origin",
    [HOST, "https://a.example:8443", "http://localhost:8000", "http://127.0.0.1:9", "https://xn--nxasmq6b.example"],
)
def test_an_origin_is_taken_as_browsers_write_it(origin: str) -> None:
    embed = embedded({"origins": [origin]}).file.embed
    assert embed is not None
    assert (embed.origins, embed.send, embed.answers) == ((origin,), ("ready", "height", "outcome"), ())


@pytest.mark.parametrize(
    "origin",
    [
        *(
            f"{HOST}/",
            HOST.upper(),
            f"{HOST}:443",
            "brand.eu.qualtrics.com",
            "https://user@a.example",
            "http://a.example",
        ),
        *("*", "https://a.example; script-src *", "https://a.example\r\nx: y", ""),
    ],
)
def test_what_is_no_origin_is_refused_at_its_place(origin: str) -> None:
    assert places(embedded, {"origins": [origin]}) == ["embed.origins[0]"]


@given(st.text(max_size=30))
def test_no_text_gets_into_the_policy_that_ends_its_part_of_it(text: str) -> None:
    try:
        study = embedded({"origins": [f"https://{text}"]})
    except StudyError:
        return
    assert study.file.embed is not None
    assert not set(study.file.embed.origins[0]) & set(" ;,'\"*\r\n\t/?#@\\") - set("/")


@pytest.mark.parametrize(
    ("embed", "where"),
    [
        ({"origins": []}, "origins"),
        ({"send": ["ready"]}, "origins"),
        ({"origins": [HOST], "sent": []}, "sent"),
        ({"origins": [HOST], "send": ["redy"]}, "send[0]"),
        ({"origins": [HOST], "send": ["ready", "about.agee"]}, "send[1]"),
        ({"origins": [HOST], "send": ["answer.answer"]}, "send[0]"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_its_place(embed: dict[str, Any], where: str) -> None:
    assert places(embedded, embed) == [f"embed.{where}"]


def test_a_host_is_sent_what_was_chosen_in_order_and_no_code_link_or_right_answer() -> None:
    study = embedded({"origins": [HOST], "send": ["ready", "outcome", "about.age", "about.parts"]})
    head = {"source": "parley", "version": 1}
    ready = head | {"type": "ready", "study": "small"}
    assert messages(study) == messages(study, {"agreed": "on"}) == [ready]
    forms = [{"agreed": "on"}, {"age": "", "parts": ["talk", "sing"]}]
    answers = head | {"type": "answers", "answers": {"about.age": None, "about.parts": ["talk", "sing"]}}
    assert messages(study, *forms) == [ready, answers]
    outcome = head | {"type": "outcome", "outcome": "complete"}
    assert messages(study, *forms, {"answer": "A"}) == [ready, answers, outcome]
    assert height_message(study) is None
    assert height_message(embedded({"origins": [HOST]})) == head | {"type": "height"}


@given(st.sets(st.sampled_from(["ready", "height", "outcome", *NAMES])))
def test_nothing_is_sent_that_the_study_does_not_list(send: set[str]) -> None:
    study = embedded({"origins": [HOST], "send": sorted(send)})
    sent = messages(study, {"agreed": "on"}, {"age": "33", "parts": ["sing"]}, {"answer": "B"})
    assert {one["type"] for one in sent} - {"answers"} == send & {"ready", "outcome"}
    assert {name for one in sent for name in one.get("answers", {})} == send & set(NAMES)
    assert (height_message(study) is None) == ("height" not in send)


def test_who_withdraws_takes_the_answers_along() -> None:
    study = embedded({"origins": [HOST], "send": ["outcome", "about.age"]})
    session = clicked(study, {"agreed": "on"}, {"age": "33", "parts": ["sing"]}).do("withdraw")
    assert session.screen.ended
    assert [(one["type"], one.get("outcome")) for one in host_messages(study, session.state)] == [
        ("outcome", "withdrawn")
    ]
