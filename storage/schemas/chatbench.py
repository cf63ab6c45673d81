"""ChatBench's released schema (Chang, Anderson, Hofman: ACL 2025; dataset microsoft/ChatBench, CC BY 4.0).

`user_answers` has a row for each answer to a question, `conversations` one for each answer given with a chatbot, with
the conversation; columns and order are those of the dataset card. Both answers of an answer-first question carry the
confidence that was said before it. The attention check is in `user_answers`, as in the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from experiments.core.chance import public_id
from experiments.core.history import Done, Unit, units
from experiments.core.place import State
from experiments.core.resolve import Study
from experiments.core.talk import messages
from problems.item import Problem
from storage.schemas.base import Column, Released, Row, Schema

ANSWER_TYPES = {"answer": "user-alone", "chat": "user-AI"}
"""A step's kind and the released `answer_type`; a chat counts where the problem is answered beside it."""

ANSWER_COLUMNS = (
    Column("worker_id", "text", "The participant: ten random letters and digits."),
    Column("model", "text", "The model behind the chatbot, also for answers given alone."),
    Column("condition", "text", "answer-first or direct-to-AI."),
    Column("subject", "text", "math, physics or moral."),
    Column("batch", "integer", "The batch of twelve questions, from 0 within the subject."),
    Column("phase", "integer", "1 (alone) or 2 (with the chatbot)."),
    Column("position", "integer", "The question's position in the study, from 0."),
    Column("answer_type", "text", "user-alone or user-AI."),
    Column("dataset", "text", "The dataset that the question is from; attention_check for the check."),
    Column("question_id", "text", "The question, as `<dataset>-redux-<n>`."),
    Column("confidence", "text", "not-confident, somewhat-confident or very-confident, said before answering."),
    Column("selected_answer", "text", "A, B, C or D."),
    Column("acc", "integer", "1 if the answer is right, else 0."),
)
CONVERSATION_COLUMNS = (
    *ANSWER_COLUMNS,
    Column("chat_history", "json", "The messages in order: a list of {role: You | Bot, content}."),
    Column(
        "user_effort",
        "text",
        "An annotator's label: tried, known or low effort; null before it is annotated.",
    ),
    Column("attempted_answer", "json", "An annotator's label: whether the chatbot tried to answer."),
    Column("answer_val", "text", "An annotator's label: the value that the chatbot answered."),
    Column("answer_letter", "text", "An annotator's label: the letter that the chatbot answered."),
)
LETTERS = "ABCD"
QUESTION_COLUMNS = (
    Column("question_id", "text", "The question, as `<dataset>-redux-<n>`."),
    Column("dataset", "text", "The dataset that it is from."),
    Column("question", "text", "Its wording, without markup."),
    *(Column(f"option_{letter}", "text", f"Option {letter}, without markup.") for letter in LETTERS),
    Column("answer", "text", "The right option: A, B, C or D."),
    Column("question_formatted", "text", "Its wording as shown, with LaTeX."),
    *(Column(f"option_{letter}_formatted", "text", f"Option {letter} as shown, with LaTeX.") for letter in LETTERS),
)

ANSWERS = Released("user_answers", "full_study/user_answers.csv", ANSWER_COLUMNS, ("position", "answer_type"))
CONVERSATIONS = Released("conversations", "full_study/conversations.json", CONVERSATION_COLUMNS, ("position",))
QUESTIONS = Released("questions", "questions.csv", QUESTION_COLUMNS, ("question_id",), of_study=True)


def rows(study: Study, state: State) -> list[Row]:
    """The answers and conversations of a session, in the order in which they were given."""
    return [row for unit in units(study, state) for row in _unit_rows(study, state, unit)]


def _unit_rows(study: Study, state: State, unit: Unit) -> Iterator[Row]:
    for step in unit.steps:
        submitted = step.submitted
        if step.kind not in ANSWER_TYPES or submitted is None or submitted.data.get("answer") is None:
            continue
        values = _answer(study, state, unit, step)
        yield Row(ANSWERS.name, submitted.seq, values)
        if step.kind == "chat":
            yield Row(CONVERSATIONS.name, submitted.seq, {**values, **_conversation(step)})


def _answer(study: Study, state: State, unit: Unit, step: Done) -> dict[str, Any]:
    chosen = step.submitted.data["answer"] if step.submitted else None
    tags = unit.problem.tags
    batch = unit.values.get("batch", tags.get("batch"))
    return {
        "worker_id": public_id(state.seed, "worker_id"),
        "model": unit.values.get("model"),
        "condition": unit.values.get("condition"),
        "subject": unit.values.get("subject", tags.get("subject")),
        "batch": int(batch) if batch is not None and batch.isdigit() else None,
        "phase": unit.phase,
        "position": unit.position,
        "answer_type": ANSWER_TYPES[step.kind],
        "dataset": unit.problem.dataset,
        "question_id": unit.problem.id,
        "confidence": unit.answered("confidence"),
        "selected_answer": chosen,
        "acc": None if unit.problem.answer is None else int(chosen == unit.problem.answer),
    }


def _conversation(step: Done) -> dict[str, Any]:
    history = [{"role": message.role, "content": message.text} for message in messages(step.events)]
    annotations = dict.fromkeys(("user_effort", "attempted_answer", "answer_val", "answer_letter"))
    return {"chat_history": orjson.dumps(history).decode(), **annotations}


def study_rows(study: Study) -> list[Row]:
    """The questions of the study's pools that have four options, the attention check apart, as in the release."""
    found = {p.id: p for pool in study.pools.values() for p in pool if len(p.options) == len(LETTERS)}
    return [Row(QUESTIONS.name, 0, _question(p)) for p in found.values() if p.dataset != "attention_check"]


def _question(problem: Problem) -> dict[str, Any]:
    options = dict(zip(LETTERS, problem.options, strict=True))
    return {
        "question_id": problem.id,
        "dataset": problem.dataset,
        "question": problem.plain,
        **{f"option_{letter}": option.plain for letter, option in options.items()},
        "answer": problem.answer,
        "question_formatted": problem.text,
        **{f"option_{letter}_formatted": option.text for letter, option in options.items()},
    }


SCHEMA = Schema(
    name="chatbench",
    title="ChatBench",
    source="Chang, Anderson, Hofman: ChatBench. ACL 2025. Dataset microsoft/ChatBench, CC BY 4.0.",
    tables=(ANSWERS, CONVERSATIONS, QUESTIONS),
    rows=rows,
    study_rows=study_rows,
)
