"""A conversation beside its question."""

from problems.problem import Problem
from tests.fakes.driven import Driven, small


def test_a_reply_that_was_rated_shows_how() -> None:
    chat = {"step": "chat", "model": "m", "rate_each": ["helpfulness", "correctness"]}
    study = small(
        {"each": "item", "of": "pool", "flow": [chat]},
        problems=[Problem(id="p", text="?", plain="", dataset="d", options=(), answer="")],
        models=["m"],
    )
    session = Driven(study).do("say", text="Hello").hear()
    session.do("rate", helpfulness="5", correctness="6").do("say", text="Why?").hear()
    assert [message.rated for message in session.chat.messages] == [
        (),
        ("(5) Very helpful", "(6) Completely correct"),
        (),
        (),
    ]
