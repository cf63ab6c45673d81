"""ChatBench's prompts, byte for byte: the texts of github.com/serinachang5/interactive-eval at commit 6f2abaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.ai_alone.methods.base import MethodContext
from app.ai_alone.methods.registry import METHODS
from app.annotation.annotators.registry import annotators
from app.backends.model_ref import ModelRef
from experiments.session.annotations import ConversationRef
from experiments.study.sections.ai_alone import AiAloneSpec
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.two_step_simulator import (
    Said,
    SimulatorQuestion,
    first,
    following,
    iqa_eval,
    last,
)
from problems.problem import DialogueMessage, Option, Problem
from storage.reports.conversations import Conversation, ConversationProblem

LETTERS = "ABCD"
MODEL = ModelRef("gpt-4o", ModelSpec(backend="openai"))
Messages = list[tuple[str, str]]


def problem(question: str, options: Sequence[str], answer: str = "B", number: int = 0) -> Problem:
    made = tuple(Option(key, "shown", option) for key, option in zip(LETTERS, options, strict=True))
    return Problem(
        f"high_school_mathematics-redux-{number}", "shown", question, "high_school_mathematics", made, answer
    )


def messages(prompt: Any) -> Messages:
    return [(one["role"], one["text"]) for one in prompt]


def asked(name: str, one: Problem, *texts: str, shown: Sequence[Problem] = ()) -> Messages:
    terms = MethodContext(MODEL, AiAloneSpec(), MODEL, {one.dataset: tuple(shown)})
    return [(said.role, said.text) for said in METHODS.find(name).ask(terms, one, texts).request.messages]


def annotated(name: str, one: Problem, said: Said) -> Messages:
    talk = tuple(DialogueMessage("user" if who == "You" else "bot", words) for who, words in said)
    about = ConversationProblem(one.plain, {option.key: option.plain for option in one.options}, one.answer)
    (found,) = annotators([name], {})
    question = found.cell(Conversation("s", ConversationRef("chat"), (talk,), about), MODEL).next(())
    assert question is not None
    return [(part.role, part.text) for part in question.request.messages]


def question_of(one: Problem) -> SimulatorQuestion:
    return SimulatorQuestion(one.plain, {option.key: option.plain for option in one.options})


BAGS = problem("How many bags?", ("12", "13", "14", "144"))
DEV = [problem(f"Example {n}?", ("1", "2", "3", "4"), LETTERS[n % 4], n) for n in range(5)]
SAID: Said = [("You", "is it 13?"), ("Bot", "Yes.\n\n**B**"), ("You", "sure?"), ("Bot", "Quite.")]
BAGS_TEXT = "How many bags?\nA. 12\nB. 13\nC. 14\nD. 144"
ASSISTANT = ("system", "You are a helpful AI assistant.")
HELPER = ("system", "You are a helpful assistant.")
RULE = "========================"


def test_models_alone() -> None:
    assert asked("letter_only_zero_shot", BAGS) == [
        ASSISTANT,
        ("user", f"Answer with only a single letter.\n\nQuestion: {BAGS_TEXT}\nAnswer:"),
    ]
    shown = "".join(
        f"Question: Example {n}?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: {letter}\n\n" for n, letter in enumerate("ABCDA")
    )
    header = "The following are multiple choice questions (with answers) about high school mathematics.\n\n"
    assert asked("letter_only_few_shot", BAGS, shown=DEV) == [
        ASSISTANT,
        ("user", f"Answer with only a single letter.\n\n{header}{shown}Question: {BAGS_TEXT}\nAnswer:"),
    ]
    assert asked("free_text", BAGS) == [ASSISTANT, ("user", BAGS_TEXT)]


def test_the_extractor() -> None:
    asks = 'Respond with a JSON object that contains one key "attempted_answer" with a value that is true or false. '
    asks += 'If "attempted_answer" is true, then include a second key "answer_val" with the final answer\'s value in '
    asks += "quotations. "
    ends = 'If the final answer value matches one of the answer options, include a third key "answer_letter" with a '
    ends += 'value that is one of the letters "A", "B", "C", or "D".'
    assert asked("free_text", BAGS, "It is 13.") == [
        HELPER,
        (
            "user",
            f"Here is a question that someone was asked:\n\n{RULE}\n{BAGS_TEXT}\n{RULE}\n\n"
            f"Here is a response:\n\n{RULE}\nIt is 13.\n{RULE}\n\n"
            f"Did the response provide a final answer to the question? {asks}{ends}",
        ),
    ]


def test_the_annotators() -> None:
    begin = f"Here is a question that someone was asked:\n\n{BAGS_TEXT}\n\nHere is a conversation that the person had "
    begin += "with an AI system about the question:\nPerson: is it 13?\nSystem: Yes.\n\n**B**\nPerson: sure?\n"
    begin += "System: Quite.\n\n"
    (system, (_, answer)), (_, (_, corrected)) = (annotated(name, BAGS, SAID) for name in ("answer", "corrected"))
    assert system == HELPER
    assert answer.startswith(f"{begin}Does this conversation provide a final answer to the question? Respond with a ")
    assert answer.endswith('third key "answer_letter" which is the letter corresponding to the matching answer option.')
    assert corrected.startswith(f"{begin}Does the user correct the AI system at any point in this conversation? ")
    assert corrected.endswith("which is a list of the user's corrections, with exact quotes of the user.")


def test_the_simulators() -> None:
    question = question_of(BAGS)
    begin = f"Here is your conversation so far with the AI system:\n{RULE}\nYOU: is it 13?\n\nSYSTEM: Yes.\n\n**B**\n\n"
    begin += f"YOU: sure?\n\nSYSTEM: Quite.\n{RULE}\n"
    system = "You are a human user interacting with an AI system, and you are trying to answer the following question:"
    assert messages(first(question)) == [
        ("system", f"{system}\n\n{BAGS_TEXT}"),
        (
            "user",
            "Generate the first prompt you would say to the system to get started with answering your question. "
            "Remember to write exactly as a real user would.",
        ),
    ]
    assert messages(following(question, SAID))[1][1] == (
        f"{begin}If your question is answered by this conversation, return ONLY the answer in the format "
        '"Answer: A, B, C, or D". If not, generate the next prompt you would say to the system to answer your '
        "question. Remember to keep your writing style consistent."
    )
    assert messages(last(question, SAID))[1][1] == (
        f"{begin}Answer the question based on this conversation. Return ONLY the answer in the format "
        '"Answer: A, B, C, or D".'
    )
    ((role, words),) = messages(iqa_eval(question, SAID))
    assert role == "system"
    assert words.startswith("You are mimicking a human. You are trying to choose the correct answer to the given ")
    assert words.endswith(
        f'please output "So, the answer is: A, B, C, or D."\n\n{BAGS_TEXT}\n\nYOU: is it 13?\n\nASSISTANT: Yes.\n\n'
        "**B**\n\nYOU: sure?\n\nASSISTANT: Quite."
    )
    assert iqa_eval(question, ())[0]["text"].endswith(BAGS_TEXT)
