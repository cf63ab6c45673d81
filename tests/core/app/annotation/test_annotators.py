"""Annotators: a reply is read strictly or not at all, and a model is told no more than it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.annotation.annotators.base import Annotator
from app.annotation.annotators.json_reply import UnparsableReply
from app.annotation.annotators.registry import annotators
from app.backends.model_ref import ModelRef
from experiments.session.annotations import ConversationRef
from experiments.study.sections.annotators import AnnotatorSpec
from experiments.study.sections.model_spec import ModelSpec
from problems.problem import DialogueMessage
from storage.reports.conversations import Conversation, ConversationProblem

ASKED = ModelRef("judge", ModelSpec(backend="scripted"))
QUESTION = ConversationProblem("How many sheep are left of 17 if all but 9 run away?", {"A": "8", "B": "9"}, "B", "A")
SAID = (
    DialogueMessage("user", "hello {{right}}"),
    DialogueMessage("bot", "Hi!"),
    DialogueMessage("user", "How many sheep are left?"),
    DialogueMessage("bot", "8, so it is A."),
)
TALK = Conversation("stream-1", ConversationRef("q[0]/chat"), (SAID,), QUESTION)
ANSWER = {"attempted_answer": True, "answer_val": "8", "answer_letter": "A"}
FIRST: dict[str, Any] = {
    "first_prompt": "question",
    "first_question": "near-exact",
    "first_answer": "incorrect",
    "last_answer": "incorrect",
    "several_answers": False,
    "ai_corrects_user": False,
    "user_corrects_ai": False,
    "unusual": False,
    "what_unusual": None,
}
NOTHING = {"attempted_answer": False, "answer_val": None, "answer_letter": None}
GOOD: dict[str, dict[str, Any]] = {
    "user_effort": {"user_effort": "low effort"},
    "answer": ANSWER,
    "corrected": {"corrected": True, "corrections": ["No, it is 9"]},
    "first_prompt": FIRST,
    "personal_data": {"personal_data": True, "kinds": ["name", "location"]},
}
BAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("user_effort", {"user_effort": "Tried"}),
    ("user_effort", {"user_effort": None}),
    ("user_effort", {"user_effort": "tried", "why": "they asked"}),
    ("user_effort", {}),
    ("answer", ANSWER | {"attempted_answer": "true"}),
    ("answer", ANSWER | {"answer_letter": ["A"]}),
    ("answer", ANSWER | {"answer_val": {"is": 8}}),
    ("answer", {"answer_val": "8", "answer_letter": "A"}),
    ("corrected", {"corrected": False, "corrections": ["No"]}),
    ("corrected", {"corrected": True, "corrections": []}),
    ("first_prompt", FIRST | {"first_answer": "none"}),
    ("first_prompt", FIRST | {"first_answer": "none", "last_answer": "none", "several_answers": True}),
    ("first_prompt", {name: value for name, value in FIRST.items() if name != "unusual"}),
    ("personal_data", {"personal_data": True, "kinds": []}),
    ("personal_data", {"personal_data": False, "kinds": ["name"]}),
    ("personal_data", {"personal_data": True, "kinds": ["Mr Miller"]}),
)


def of(name: str) -> Annotator:
    return annotators([name], {})[0]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_reply_is_read_whatever_is_said_around_it(name: str) -> None:
    text = json.dumps(GOOD[name])
    for reply in (
        text,
        json.dumps(GOOD[name], indent=2),
        f"Of course:\n```json\n{text}\n```\nDone.",
        f"\ufeff{text}\x00",
    ):
        assert of(name).read(reply, TALK) == GOOD[name]


@pytest.mark.parametrize(("name", "values"), BAD, ids=[f"{name}-{n}" for n, (name, _) in enumerate(BAD)])
def test_what_is_not_of_the_schema_or_contradicts_itself_is_unparsed(name: str, values: dict[str, Any]) -> None:
    found = of(name).read(json.dumps(values), TALK)
    assert isinstance(found, UnparsableReply)
    assert found.why


@given(st.text(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(ANSWER)) | st.text(), inner),
).map(json.dumps))  # fmt: skip
def test_no_reply_breaks_the_reading_or_is_mended(reply: str) -> None:
    found = of("answer").read(reply, TALK)
    if not isinstance(found, UnparsableReply):
        assert set(found) == set(ANSWER)
        raw, _ = json.JSONDecoder().raw_decode(reply, reply.index("{"))
        assert found["attempted_answer"] is raw["attempted_answer"]
        assert found["answer_val"] in (None, raw.get("answer_val"), str(raw.get("answer_val")))
        assert found["answer_letter"] in (None, *QUESTION.options)


@pytest.mark.parametrize("name", GOOD)
def test_the_question_holds_the_conversation_and_the_schema_and_is_asked_once(name: str) -> None:
    cell = of(name).cell(TALK, ASKED)
    question = cell.next(())
    assert question is not None
    message = question.request.messages[-1]
    assert all(said.text in message.text for said in SAID)
    if name == "user_effort":
        assert question.request.schema is None, "the card asks for a word"
    else:
        assert all(f'"{field}"' in message.text for field in GOOD[name]), "for models that no schema holds"
        assert question.request.schema == of(name).schema(TALK)
    assert (question.request.temperature, question.request.model, cell.samples, cell.steps) == (0.0, "judge", 1, 1)
    assert cell.next(("{}",)) is None


@pytest.mark.parametrize("name", GOOD)
def test_only_who_needs_it_is_told_the_right_answer(name: str) -> None:
    other = Conversation(
        TALK.stream, TALK.about, TALK.talks, ConversationProblem(QUESTION.text, QUESTION.options, "A", "A")
    )
    same = of(name).cell(TALK, ASKED).key == of(name).cell(other, ASKED).key
    assert same == (name != "first_prompt")


def test_a_cell_is_one_of_a_conversation_an_annotator_a_model_and_its_parameters() -> None:
    told = {"prompt": "How sure is {{conversation}}?", "answer_schema": {"type": "object", "properties": {"sure": {}}}}
    hot = annotators(["own"], {"own": AnnotatorSpec.model_validate(told | {"temperature": 1})})[0]
    cold = annotators(["own"], {"own": AnnotatorSpec.model_validate(told)})[0]
    elsewhere = Conversation("stream-2", TALK.about, TALK.talks, QUESTION)
    later = Conversation(TALK.stream, ConversationRef("q[1]/chat"), TALK.talks, QUESTION)
    other = ModelRef("judge", ModelSpec(backend="scripted", model="judge-2"))
    cells = [kind.cell(held, ASKED) for kind in (hot, cold, of("corrected")) for held in (TALK, elsewhere, later)]
    assert len({cell.key for cell in [*cells, cold.cell(TALK, other)]}) == 10
    renamed = ModelRef("another-label", ModelSpec(backend="scripted", model="judge"))
    assert cold.cell(TALK, renamed).key == cold.cell(TALK, ASKED).key, "its label in the study changes no reply"


def test_the_prompt_of_a_known_annotator_can_be_changed_and_all_else_stays() -> None:
    own = {"answer": AnnotatorSpec(prompt="Which one? {{problem}}\n{{transcript}}", system="Be brief.")}
    (changed,) = annotators(["answer"], own)
    question = changed.cell(TALK, ASKED).next(())
    assert question is not None
    system, message = question.request.messages
    assert (system.role, system.text) == ("system", "Be brief.")
    assert message.text.startswith("Which one? How many sheep")
    assert "\nSystem: 8, so it is A.\n\n" in message.text
    assert '"answer_letter": "A" or "B" or null' in message.text, "the prompt does not say what to return"
    assert question.request.schema == of("answer").schema(TALK)
    assert changed.read('{"attempted_answer": false}', TALK) == of("answer").read('{"attempted_answer": false}', TALK)
    assert changed.read('{"attempted_answer": false, "answer_val": "8"}', TALK) == ANSWER | NOTHING
    bare = Conversation("s", ConversationRef("chat"), (SAID,))
    assert changed.lacks(bare)
    whole = AnnotatorSpec(prompt="{{transcript}}", describe_format=False)
    assert annotators(["corrected"], {"corrected": whole})[0].cell(TALK, ASKED).next(()).request.messages[-1].text == (  # type: ignore[union-attr]
        "Person: hello {{right}}\nSystem: Hi!\nPerson: How many sheep are left?\nSystem: 8, so it is A."
    )
