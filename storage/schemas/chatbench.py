"""ChatBench's released schema (Chang, Anderson, Hofman: ACL 2025; dataset microsoft/ChatBench, CC BY 4.0).

`user_answers` has a row for each answer to a question; `conversations` has a row for each answer given with a chatbot,
with the conversation, and one without an answer for each conversation whose time ran out. Columns and order are those
of the dataset card. Both answers to an answer-first question have the confidence that the participant stated before it.
As in the release, `user_answers` includes the attention check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import orjson

from experiments.instruments.scales import CONFIDENCE
from experiments.session.annotations import ANNOTATED as ANNOTATION
from experiments.session.annotations import ConversationRef
from experiments.session.annotations import values as found_by
from experiments.session.conversation import messages
from experiments.session.seeded_random import public_id
from experiments.study.ai_alone_questions import questions
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import ProblemTurn, StepRecord, each_problem_turn, model_at
from problems.problem import Problem
from storage.columns import MESSAGES, ChoiceColumn, Column, IntegerColumn, JsonColumn, NumberColumn, TextColumn, choice
from storage.schemas.base import UNMARKED, AiAloneTally, ReleasedRow, ReleasedTable, Rule, Schema

# The released `answer_type` by kind of step; a chat counts if the problem is answered in it.
ANSWER_TYPES = {"answer": "user-alone", "chat": "user-AI"}

CHOSEN = "the participant"
DRAWN = "random assignment on arrival"
QUESTION = "the question"
ANNOTATED = "an annotator"
ALONE_MODEL = "the models, asked without a participant"
ATTENTION = "attention_check"
FULL_STUDY = "full_study"
PARTS = (FULL_STUDY, "pilot_1_no_incentives", "pilot_2_w_incentives_math")
LETTERS = "ABCD"
PHASES = MappingProxyType({"1": "alone", "2": "with the chatbot"})
RIGHT = MappingProxyType({"0": "wrong", "1": "right"})
TRUTH = MappingProxyType({"True": 1, "true": 1, "False": 0, "false": 0})
# Other spellings of the phases: those of the study's event log, and possible ones of the release, whose column types
# are not documented.
SPELT = MappingProxyType(
    {"pretest": 1, "test": 2} | {f"{word}{n}": n for word in ("phase", "phase_", "phase-", "Phase ") for n in (1, 2)}
)
TYPES = MappingProxyType({"user-alone": "answered alone", "user-AI": "answered with the chatbot at hand"})
SHARE = NumberColumn(low=0, high=1, blank=True)
COUNT = IntegerColumn(low=0, blank=True)


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(said, dict) and all(isinstance(said.get(key), str) for key in ("role", "content")) for said in value
    )


ANSWER_COLUMNS = (
    Column(
        "worker_id",
        TextColumn("[A-Za-z0-9]+", "letters and digits"),
        "The participant: ten random letters and digits.",
        "chance",
    ),
    Column("model", TextColumn(blank=True), "The model of the chatbot; also set for answers given alone.", DRAWN),
    Column(
        "condition",
        choice("answer-first", "direct-to-AI", blank=True),
        "Whether the participant answers alone first.",
        DRAWN,
    ),
    Column(
        "subject", choice("math", "physics", "moral", blank=True), "The subject of the participant's questions.", DRAWN
    ),
    Column(
        "batch", IntegerColumn(low=0, blank=True), "The batch of twelve questions, from 0 within the subject.", DRAWN
    ),
    Column("phase", IntegerColumn(1, 2, PHASES, SPELT, blank=True), "The part of the study.", "the study"),
    Column("position", IntegerColumn(low=0), "The question's position in the study, from 0.", "the study"),
    Column(
        "answer_type", ChoiceColumn(TYPES), "Whether the question was answered alone or with the chatbot.", "the study"
    ),
    Column("dataset", TextColumn(), "The dataset that the question is from; attention_check for the check.", QUESTION),
    Column("question_id", TextColumn(), "The question, as `<dataset>-redux-<n>`.", QUESTION),
    Column(
        "confidence",
        ChoiceColumn(CONFIDENCE, blank=True),
        "The participant's confidence before answering; both answers to an answer-first question have it.",
        CHOSEN,
        ("confidence",),
    ),
    Column("selected_answer", choice(*LETTERS, blank=True), "The chosen option.", CHOSEN, ("answer",)),
    Column("acc", IntegerColumn(0, 1, RIGHT, TRUTH, blank=True), "Whether the answer is right.", "the question's key"),
)
CONVERSATION_COLUMNS = (
    *ANSWER_COLUMNS,
    Column(
        "chat_history",
        JsonColumn(_is_history, "a list of objects with the texts role and content", MESSAGES),
        f"The messages in order; You is the participant, Bot the model. {UNMARKED}",
        "the participant and the model",
        free_text=True,
    ),
    Column(
        "user_effort",
        choice("tried", "known", "low effort", blank=True),
        "Whether the participant tried to get help, knew the answer already, or made no effort.",
        ANNOTATED,
        optional=True,
    ),
    Column(
        "attempted_answer",
        JsonColumn(lambda value: value in (True, False), "true or false", "boolean", blank=True),
        "Whether the conversation provides a final answer to the question.",
        ANNOTATED,
        optional=True,
    ),
    Column(
        "answer_val",
        TextColumn(blank=True),
        "The value of that final answer, as the chatbot gave it; blank if there is none.",
        ANNOTATED,
        optional=True,
    ),
    Column(
        "answer_letter",
        choice(*LETTERS, blank=True),
        "The option that the final answer is; blank if it is none.",
        ANNOTATED,
        optional=True,
    ),
)
QUESTION_COLUMNS = (
    Column("question_id", TextColumn(), "The question, as `<dataset>-redux-<n>`.", QUESTION),
    Column("dataset", TextColumn(), "The dataset that the question is from.", QUESTION),
    Column("question", TextColumn(), "The text of the question, without markup.", QUESTION),
    *(
        Column(f"option_{letter}", TextColumn(blank=True), f"Option {letter}, without markup.", QUESTION)
        for letter in LETTERS
    ),
    Column("answer", choice(*LETTERS), "The right option.", QUESTION),
    Column("question_formatted", TextColumn(blank=True), "The text of the question as shown, with LaTeX.", QUESTION),
    *(
        Column(f"option_{letter}_formatted", TextColumn(blank=True), f"Option {letter} as shown, with LaTeX.", QUESTION)
        for letter in LETTERS
    ),
)
# The methods that ask for a letter only; any other answer is invalid.
LETTER_METHODS = ("letter_only_zero_shot", "letter_only_few_shot")
METHODS = (*LETTER_METHODS, "free_text")
INVALID = {
    True: "The number of invalid answers: those that do not begin with the letter of an option.",
    False: "The number of invalid answers, always 0: a reply in free text that gives none of the options is wrong.",
}


def _method_columns(method: str) -> tuple[Column, ...]:
    """The columns in the order of ChatBench's code (`summarize_benchmark_results` in qa_reasoning.py). Older releases
    also have `_none`; the card has `_invalid` for letter methods only, the published file for all three."""
    how = method.replace("_", " ")
    return (
        Column(f"{method}_count", COUNT, f"The number of answers ({how}).", ALONE_MODEL),
        Column(
            f"{method}_acc", SHARE, f"The share of right answers; invalid ones count as wrong ({how}).", ALONE_MODEL
        ),
        Column(f"{method}_invalid", COUNT, INVALID[method in LETTER_METHODS], ALONE_MODEL, optional=True),
        Column(
            f"{method}_acc_valid",
            SHARE,
            f"The share of right answers among the {method}_count - {method}_invalid valid ones.",
            ALONE_MODEL,
            optional=True,
        ),
        Column(f"{method}_none", COUNT, f"The number of missing answers ({how}).", ALONE_MODEL, theirs=True),
    )


def _invalid_within_count(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """No method can have more invalid answers than answers."""
    for method in METHODS:
        count, invalid = values[f"{method}_count"] or 0, values[f"{method}_invalid"] or 0
        if invalid > count:
            yield f"{method}_invalid", f"a whole number from 0 to {method}_count, which is {count}"


ALONE_COLUMNS = (
    Column("model", TextColumn(), "The model.", ALONE_MODEL),
    Column("dataset", TextColumn(), "The dataset that the question is from.", QUESTION),
    Column("question_id", TextColumn(), "The question.", QUESTION),
    *(column for method in METHODS for column in _method_columns(method)),
)
NOTHING_ASKED = {column.name: None for column in ALONE_COLUMNS[3:]}
# The columns that distinguish one participant's answers. The release has both assignments of participants who took part
# twice.
ASSIGNED = ("model", "condition", "subject", "batch", "position", "question_id", "answer_type")


def _phases_in_order() -> Rule:
    """A participant's phases follow each other: no question of phase 2 comes before one of phase 1."""
    last: dict[str, int] = {}
    first: dict[str, int] = {}

    def rule(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        who, phase, position = values["worker_id"], values["phase"], values["position"]
        if phase == 1:
            last[who] = max(position, last.get(who, position))
        elif phase == 2:
            first[who] = min(position, first.get(who, position))
        if who in last and who in first and last[who] > first[who]:
            yield "phase", f"phase 1 before phase 2: this participant has {last[who]} in 1 and {first[who]} in 2"
            del first[who]

    return rule


def _one_key() -> Rule:
    """No answer is right in one row and wrong in another, and no two options are right."""
    keys: dict[str, str] = {}
    wrong: set[tuple[str, str]] = set()

    def rule(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        question, chosen, right = values["question_id"], values["selected_answer"], values["acc"]
        if chosen is None or right is None:
            return
        known = keys.get(question)
        if right and ((known or chosen) != chosen or (question, chosen) in wrong):
            yield "acc", f"0, as in the other rows about {question}"
        elif not right and known == chosen:
            yield "acc", f"1, as in the other rows about {question}"
        elif right:
            keys[question] = chosen
        else:
            wrong.add((question, chosen))

    return rule


def _one_place() -> Rule:
    """One question at a position, and each in one batch of its subject, except for the attention check."""
    questions: dict[tuple[Any, ...], str] = {}
    positions: dict[tuple[Any, ...], int] = {}
    batches: dict[tuple[Any, ...], int] = {}

    def rule(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        batch, question, position = values["batch"], values["question_id"], values["position"]
        if batch is None or values["dataset"] == ATTENTION:
            return
        session = tuple(values[name] for name in ("worker_id", "model", "condition", "subject", "batch"))
        if (met := questions.setdefault((*session, position), question)) != question:
            yield "position", f"another one than that of {met}, which this participant has there"
        elif (known := positions.setdefault((*session, question), position)) != position:
            yield "position", f"{known}, as in this participant's other row about {question}"
        if (known := batches.setdefault((values["subject"], question), batch)) != batch:
            yield "batch", f"{known}, as in the other rows about {question}"

    return rule


def _speakers(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found = {said["role"] for said in orjson.loads(values["chat_history"] or "[]")}
    if found - {"You", "Bot"}:
        yield "chat_history", "messages with the role You or Bot"


ACROSS = (_phases_in_order, _one_key, _one_place)
ANSWERS = ReleasedTable(
    "user_answers", "user_answers.csv", ANSWER_COLUMNS, ASSIGNED, "worker_id", PARTS, rules_across=ACROSS
)
FILTERED = ReleasedTable(
    "user_answers_filtered",
    "user_answers_filtered.csv",
    ANSWER_COLUMNS,
    ASSIGNED,
    "worker_id",
    (FULL_STUDY,),
    filters=ANSWERS.name,
    rules_across=ACROSS,
)
# The annotators of the release, and the columns with their results.
ANNOTATIONS = MappingProxyType(
    {"user_effort": ("user_effort",), "answer": ("attempted_answer", "answer_val", "answer_letter")}
)
CONVERSATIONS = ReleasedTable(
    "conversations",
    "conversations.json",
    CONVERSATION_COLUMNS,
    ASSIGNED,
    "worker_id",
    PARTS,
    annotated=ANNOTATIONS,
    rules=(_speakers,),
    rules_across=ACROSS,
)
ALONE = ReleasedTable(
    "ai_alone_answers",
    "ai_alone_answers.csv",
    ALONE_COLUMNS,
    ("model", "question_id"),
    of_study=True,
    of_alone=True,
    rules=(_invalid_within_count,),
)
QUESTIONS = ReleasedTable(
    "questions", "questions.csv", QUESTION_COLUMNS, ("question_id",), key=("question_id",), of_study=True
)


participant = partial(public_id, label="worker_id")


def rows(study: Study, state: State) -> list[ReleasedRow]:
    """The answers and conversations of a session, in the order in which they were given."""
    return [row for made in _unit_rows(study, state) for row in made]


@each_problem_turn(ANNOTATION)
def _unit_rows(state: State, unit: ProblemTurn) -> list[ReleasedRow]:
    found: list[ReleasedRow] = []
    for step in unit.steps:
        ended = step.ended if step.kind in ANSWER_TYPES and step.asks_answer else None
        if ended is None:
            continue
        values = _answer(state, unit, step, ended.data.get("answer"))
        answered = values["selected_answer"] is not None
        if answered:
            found.append(ReleasedRow(ANSWERS.name, ended.seq, values, FULL_STUDY))
        if step.kind == "chat" and (answered or messages(step.events)):
            annotation = found_by(state.facts.get("", ()), ConversationRef(unit.prefix + step.id))
            talked = {**values, **_conversation(step, annotation)}
            found.append(ReleasedRow(CONVERSATIONS.name, ended.seq, talked, FULL_STUDY))
    return found


def _answer(state: State, turn: ProblemTurn, step: StepRecord, chosen: Any) -> dict[str, Any]:
    tags = turn.problem.tags
    batch = turn.values.get("batch", tags.get("batch"))
    return {
        "worker_id": participant(state.seed),
        "model": model_at(step.node, turn.scope),
        "condition": turn.values.get("condition"),
        "subject": turn.values.get("subject", tags.get("subject")),
        "batch": int(batch) if batch is not None and batch.isdigit() else None,
        "phase": turn.phase,
        "position": turn.position,
        "answer_type": ANSWER_TYPES[step.kind],
        "dataset": turn.problem.dataset,
        "question_id": turn.problem.id,
        "confidence": turn.answered("confidence"),
        "selected_answer": chosen,
        "acc": None if chosen is None or turn.problem.answer is None else int(chosen == turn.problem.answer),
    }


def _conversation(step: StepRecord, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    history = [{"role": message.role, "content": message.text} for message in messages(step.events)]
    blank = dict.fromkeys(name for names in ANNOTATIONS.values() for name in names)
    return CONVERSATIONS.filled({"chat_history": orjson.dumps(history).decode(), **blank}, found)


def study_rows(study: Study) -> list[ReleasedRow]:
    """The questions of the study that have four options, as in the release."""
    return [ReleasedRow(QUESTIONS.name, 0, _question(p)) for p in questions(study) if len(p.options) == len(LETTERS)]


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


def alone_rows(tallies: Sequence[AiAloneTally]) -> list[ReleasedRow]:
    """A row for each model and question; methods that the release does not have are left out."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for tally in tallies:
        if tally.method in METHODS:
            key = (tally.model, tally.dataset, tally.problem)
            found.setdefault(key, {}).update(_numbers(tally))
    return [
        ReleasedRow(
            ALONE.name, number, {"model": model, "dataset": dataset, "question_id": problem, **NOTHING_ASKED, **values}
        )
        for number, ((model, dataset, problem), values) in enumerate(found.items())
    ]


def _numbers(tally: AiAloneTally) -> dict[str, Any]:
    name, valid = tally.method, tally.count - tally.invalid
    return {
        f"{name}_count": tally.count,
        f"{name}_acc": tally.right / tally.count if tally.count else None,
        f"{name}_invalid": tally.invalid,
        f"{name}_acc_valid": tally.right / valid if valid else None,
    }


SCHEMA = Schema(
    name="chatbench",
    title="ChatBench",
    source="Chang, Anderson, Hofman: ChatBench. ACL 2025. Dataset microsoft/ChatBench.",
    tables=(ANSWERS, FILTERED, CONVERSATIONS, ALONE, QUESTIONS),
    rows=rows,
    study_rows=study_rows,
    alone_rows=alone_rows,
    participant=participant,
    url="https://huggingface.co/datasets/microsoft/ChatBench",
    licence="CC-BY-4.0",
    tasks=("question-answering",),
    tags=("human-ai-interaction", "benchmark", "conversations"),
)
