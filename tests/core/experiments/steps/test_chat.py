"""A conversation beside its question."""

from experiments.session.conversation import TOO_LONG, UNANSWERED
from experiments.study.study import Study
from tests.fakes.driven import ABOUT, Driven, small


def beside_a_question(chat: dict[str, object]) -> Study:
    return small({"each": "item", "of": "pool", "flow": [chat]}, problems=[ABOUT], models=["m"])


def test_a_message_that_is_too_long_for_the_model_comes_back_with_the_reason() -> None:
    for reason, words in (("context_length_exceeded", TOO_LONG), ("content_filter", UNANSWERED)):
        session = Driven(beside_a_question({"step": "chat", "model": "m"})).do("say", text="Hello").fails(reason)
        assert (session.chat.failed, session.chat.refused) == (words, "Hello")
    columns = {"step": "compare", "models": ["m", "n"]}
    session = Driven(small(columns, models=["m", "n"])).do("say", text="Hello").fails("status_413", "a").hear("b")
    assert (session.chat.rounds[0].replies[0].failed, session.chat.refused) == (TOO_LONG, "Hello")
