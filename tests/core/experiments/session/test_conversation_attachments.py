"""Pictures that are attached to messages: which can be, what a message has of them, and which the model is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.errors import Refused
from experiments.session.conversation import PICTURE_LEFT_OUT, dropped_pictures
from experiments.session.engine import pending_tasks
from problems.attachments import NewPicture
from tests.fakes.driven import ABOUT, Driven, small

ONE, TWO = (NewPicture(letter * 64, "image/png", 30, 20, letter.encode()) for letter in "ab")


def session(**chat: object) -> Driven:
    given = {"step": "chat", "model": "m", "attach": ["image"], **chat}
    return Driven(small({"each": "item", "of": "pool", "flow": [given]}, problems=[ABOUT], models=["m"]))


def sent(driven: Driven) -> list[list[str]]:
    """The pictures of the messages that the model is sent now."""
    (job,) = pending_tasks(driven.study, driven.state)
    return [[one["sha256"][0] for one in said.get("pictures", ())] for said in job.data["messages"]]


def test_a_message_has_what_is_attached_and_needs_no_text() -> None:
    talk = session(attach_limits={"per_message": 2})
    assert (talk.actions, talk.chat.attachments.left) == (("say", "submit", "attach"), 2)
    talk.do("attach", picture=ONE).do("attach", picture=TWO).do("detach", picture=ONE.sha256)
    assert talk.actions == ("say", "submit", "attach", "detach")
    assert [one.sha256 for one in talk.chat.attachments.pictures] == [TWO.sha256]
    talk.do("say", text=" ")
    facts = {"sha256": TWO.sha256, "type": "image/png", "width": 30, "height": 20, "bytes": 1}
    assert talk.last_of("said").data == {"text": "", "pictures": (facts,)}
    assert sent(talk) == [[], ["b"]][1:]
    talk.hear()
    assert (talk.chat.attachments.pictures, talk.chat.messages[0].pictures[0].width) == ((), 30)
    with pytest.raises(Refused):
        talk.do("say", text=" ")


def test_what_a_page_says_is_no_picture_and_too_many_are_refused() -> None:
    talk = session(attach_limits={"per_message": 1})
    for forged in (ONE.facts, ONE.sha256, None):
        with pytest.raises(Refused):
            talk.do("attach", picture=forged)
    seq = talk.do("attach", picture=ONE).state.seq
    for kind, picture in (("attach", TWO), ("detach", TWO.sha256), ("detach", [])):
        with pytest.raises(Refused):
            talk.do(kind, picture=picture)
    assert talk.state.seq == seq
    with pytest.raises(Refused):
        session(attach=[]).do("attach", picture=ONE)


def test_a_message_that_was_given_back_has_its_pictures_again() -> None:
    talk = session().do("attach", picture=ONE).do("say", text="See").fails("content_filter")
    assert [one.sha256 for one in talk.chat.attachments.pictures] == [ONE.sha256]
    before = talk.state
    talk.do("detach", picture=ONE.sha256).do("say", text="Well")
    assert sent(talk) == [[]]
    assert dropped_pictures(before, talk.state) == frozenset(), "it was sent once"


def test_the_newest_pictures_are_sent_again_and_of_others_that_they_were_there() -> None:
    talk = session(attach_limits={"max_resent": 1}).do("attach", picture=ONE).do("say", text="").hear()
    talk.do("attach", picture=TWO).do("say", text="And this?")
    assert (sent(talk), talk.prompts) == ([[], [], ["b"]], [[PICTURE_LEFT_OUT, "Says .", "And this?"]])
    talk.hear().do("say", text="Thanks")
    assert sent(talk) == [[], [], ["b"], [], []]


def test_the_content_is_needed_until_nothing_refers_to_it() -> None:
    talk = session().do("attach", picture=ONE).do("attach", picture=TWO)
    attached = talk.state
    assert dropped_pictures(attached, talk.do("detach", picture=ONE.sha256).state) == {ONE.sha256}
    kept = talk.state
    assert dropped_pictures(kept, talk.do("submit").state) == {TWO.sha256}, "the step is over, and it was not sent"
    sent_one = session().do("attach", picture=ONE).do("say", text="See").hear()
    before = sent_one.state
    assert dropped_pictures(before, sent_one.do("submit").state) == frozenset()
    assert dropped_pictures(before, replace(before, outcome="withdrawn")) == frozenset(), (
        "whose pictures go with all else"
    )
