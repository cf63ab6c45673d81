"""ChatBench's prompts as models get them, byte for byte: github.com/serinachang5/interactive-eval at commit 6f2abaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import pytest

from app.ai_alone.methods.base import MethodContext
from app.ai_alone.methods.registry import METHODS
from app.annotation.annotators.registry import annotators
from app.backends.model_ref import ModelRef
from experiments.session.annotations import ConversationRef
from experiments.study.sections.ai_alone import AiAloneSpec
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.two_step_simulator import Said, SimulatorQuestion, first, following, iqa_eval, last
from problems.problem import DialogueMessage, Option, Problem
from storage.reports.conversations import Conversation, ConversationProblem

DATASET = "high_school_mathematics"
MODEL = ModelRef("gpt-4o", ModelSpec(backend="openai"))


def problem(question: str, options: Sequence[str], answer: str = "B", number: int = 0) -> Problem:
    made = tuple(Option(key, "shown", option) for key, option in zip("ABCD", options, strict=True))
    return Problem(f"{DATASET}-redux-{number}", "shown", question, DATASET, made, answer)


BAGS = problem("How many bags?", ("12", "13", "14", "144"))
DEV = tuple(problem(f"Example {n}?", ("1", "2", "3", "4"), "ABCD"[n % 4], n) for n in range(5))
SAID: Said = [("You", "is it 13?"), ("Bot", "Yes.\n\n**B**"), ("You", "sure?"), ("Bot", "Quite.")]
OPTIONS = {option.key: option.plain for option in BAGS.options}
ASKED = SimulatorQuestion(BAGS.plain, OPTIONS)


def alone(name: str, *texts: str) -> Any:
    terms = MethodContext(MODEL, AiAloneSpec(), MODEL, {DATASET: DEV})
    return [(said.role, said.text) for said in METHODS.find(name).ask(terms, BAGS, texts).request.messages]


def annotated(name: str) -> Any:
    talk = tuple(DialogueMessage("user" if who == "You" else "bot", words) for who, words in SAID)
    (found,) = annotators([name], {})
    about = Conversation("s", ConversationRef("chat"), (talk,), ConversationProblem(BAGS.plain, OPTIONS, BAGS.answer))
    question = found.cell(about, MODEL).next(())
    assert question is not None
    return [(part.role, part.text) for part in question.request.messages]


MESSAGES: Mapping[str, Any] = {
    "letter_only_zero_shot": alone("letter_only_zero_shot"),
    "letter_only_few_shot": alone("letter_only_few_shot"),
    "free_text": alone("free_text"),
    "extraction": alone("free_text", "It is 13."),
    "answer": annotated("answer"),
    "corrected": annotated("corrected"),
    "first": first(ASKED),
    "following": following(ASKED, SAID),
    "last": last(ASKED, SAID),
    "iqa_eval": iqa_eval(ASKED, SAID),
    "iqa_eval, no conversation": iqa_eval(ASKED, ()),
}
# Of the messages that were compared with the texts of that commit: with another one a prompt is not ChatBench's.
DIGESTS = {
    "letter_only_zero_shot": "a65cd9bdb023dbab",
    "letter_only_few_shot": "a9e8c23a638ed390",
    "free_text": "b82a9e4c81f274fa",
    "extraction": "1b35a23fcf70b898",
    "answer": "d5f2be5793f41b2d",
    "corrected": "6074e7883eead3cc",
    "first": "1390c1356a82ab67",
    "following": "e85de188547d72bf",
    "last": "effd5f0600f04554",
    "iqa_eval": "c5940915989853da",
    "iqa_eval, no conversation": "f2d5f17bef533421",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_messages_are_as_published(name: str) -> None:
    assert sha256(repr(MESSAGES[name]).encode()).hexdigest()[:16] == DIGESTS[name], MESSAGES[name]
