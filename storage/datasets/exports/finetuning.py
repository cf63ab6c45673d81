"""Training examples for fine-tuning a user simulator on conversations: JSON lines in OpenAI's `messages` format.

Chang, Anderson, Hofman: ChatBench. ACL 2025, appendix B.4: a conversation with k messages of the user gives k + 1
examples, with the prompts of the simulated user `two_step` (experiments/study/sections/two_step_simulator.py); the last
example gives the answer. A seeded split assigns each question either to training or to testing.

The examples have no tables of their own. They are made from ChatBench's `conversations` and `questions` of a study,
recorded or imported, with all filters of an export.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal

import orjson
from sqlalchemy import Connection

from experiments.session.seeded_random import shuffled
from experiments.study.sections.two_step_simulator import (
    DEFAULT,
    Prompt,
    Said,
    SimulatorPrompts,
    SimulatorQuestion,
    examples,
)
from experiments.study.study import Study
from storage.column_types import MESSAGES as SAID
from storage.column_types import JsonColumn
from storage.datasets.describe import describe
from storage.datasets.exports.atomic_folder import HashingFile, writing
from storage.datasets.exports.exporter import period_of, sessions_in
from storage.datasets.exports.plan import ExportPlan, ExportRequest, plan_export
from storage.datasets.exports.rows import RowSelection
from storage.datasets.exports.session_filter import count_present_and_withdrawn
from storage.datasets.manifest import ExportedFile, ExportManifest
from storage.db.engine import Database
from storage.db.private_files import create
from storage.errors import StorageError
from storage.registers.publication_metadata import dataset_info_in
from storage.registers.studies import Studies
from storage.schemas.base import Column, ReleasedTable, Schema

NAME = "simulator-finetuning"
TRAIN, TEST = "train.jsonl", "test.jsonl"
SHARE = 0.6
"""The share of questions for training, as in ChatBench."""
LETTERS = "ABCD"
SPEAKERS: Mapping[str, Literal["You", "Bot"]] = MappingProxyType(
    {"You": "You", "user": "You", "Bot": "Bot", "assistant": "Bot"}
)
TALKED = ("question_id", "selected_answer", "chat_history")
UNKNOWN, UNANSWERED, SILENT = "about a question without its text", "without an answer", "without a message of the user"


@dataclass(frozen=True, slots=True)
class TrainSplit:
    """How questions are split: the share for training, and the seed of the random split."""

    share: float = SHARE
    seed: str = "1"


@dataclass
class TrainingExamples:
    """The result: the export, the number of questions per file, and conversations left out, by reason."""

    exported: ExportManifest
    questions: Mapping[str, int]
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _ExampleSource:
    """The sources of examples: conversations, the questions' texts, the file of each question, and the prompts."""

    connection: Connection
    talks: Sequence[RowSelection]
    questions: Mapping[str, SimulatorQuestion]
    files: Mapping[str, str]
    prompts: SimulatorPrompts


def _is_example(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(said, dict) and said.get("role") in ("system", "user", "assistant") and "content" in said
        for said in value
    )


MESSAGES = Column(
    "messages",
    JsonColumn(_is_example, "a list of objects with role (system, user or assistant) and content (a text)", SAID),
    "The prompt of the simulator; the last message is what the participant then wrote or answered.",
    "the participant and the model",
)

TABLES = {name: ReleasedTable(name.partition(".")[0], name, (MESSAGES,), ()) for name in (TRAIN, TEST)}
"""The two files. They have no database tables."""


def export_examples(database: Database, request: ExportRequest, folder: Path, split: TrainSplit) -> TrainingExamples:
    """Write the examples from a study's conversations, with files that describe them; raises StorageError."""
    left_out: Counter[str] = Counter()
    with database.connect() as connection:
        plan = plan_export(connection, replace(request, schema="chatbench"))
        studies = Studies(database).with_sessions(request.study, plan.origin)
        source = _source(connection, plan, request, split, _prompts(studies))
        try:
            files = _write(source, folder, left_out)
        except OSError as error:
            raise StorageError(f"{folder} cannot be written: {error.strerror}. Choose another folder") from error
        exported = ExportManifest(
            study=request.study,
            schema=_schema(split),
            origin=plan.origin,
            sessions=sessions_in(connection, request.study, plan),
            withdrawn=count_present_and_withdrawn(connection, request.study, plan.origin)[1],
            folder=folder,
            files=files,
            studies=studies,
            selected=plan.selected,
            dataset=dataset_info_in(connection, request.study),
            period=period_of(connection, request.study, plan),
        )
    describe(exported)
    return TrainingExamples(exported, Counter(source.files.values()), left_out)


def stream_examples(
    database: Database, request: ExportRequest, out: BinaryIO, split: TrainSplit, file: str = TRAIN
) -> None:
    """Write one of the files, by default the training file; raises StorageError."""
    if file not in (TRAIN, TEST):
        raise StorageError(f"the export has no file {file!r}; allowed: {TRAIN}, {TEST}")
    with database.connect() as connection:
        plan = plan_export(connection, replace(request, schema="chatbench"))
        prompts = _prompts(Studies(database).with_sessions(request.study, plan.origin))
        source = _source(connection, plan, request, split, prompts)
        for name, example in _examples(source, Counter()):
            if name == file:
                out.write(_line(example))


def dealt(ids: Sequence[str], split: TrainSplit) -> dict[str, str]:
    """Assign each question to the training or test file."""
    order = shuffled(ids, split.seed, NAME)
    most = int(len(order) * split.share)
    return {id_: TRAIN if number < most else TEST for number, id_ in enumerate(order)}


def _schema(split: TrainSplit) -> Schema:
    said = "Chang, Anderson, Hofman: ChatBench. ACL 2025, appendix B.4; "
    which = f"{split.share:.0%} of the questions are in {TRAIN}, by the seed {split.seed!r}."
    title = "the fine-tuning of ChatBench's user simulator"
    return Schema(NAME, title, said + which, tuple(TABLES.values()), lambda study, state: ())


def _prompts(studies: Sequence[Study]) -> SimulatorPrompts:
    """The prompts of the study's newest version; ChatBench's if it has none, or if the data were imported."""
    own = [study.file.simulator_prompts for study in studies[-1:]]
    return next((prompts for prompts in own if prompts is not None), DEFAULT)


def _source(
    connection: Connection, plan: ExportPlan, request: ExportRequest, split: TrainSplit, prompts: SimulatorPrompts
) -> _ExampleSource:
    files = [chosen for chosen in plan.files if isinstance(chosen, RowSelection)]
    talks = [chosen for chosen in files if chosen.table.name == "conversations"]
    asked = next((chosen for chosen in files if chosen.table.name == "questions"), None)
    if not talks or asked is None:
        lacks = "conversations.json" if not talks else "questions.csv"
        raise StorageError(
            f"{request.study!r} has no {lacks} of origin {plan.origin}, which the examples need. "
            f"If the study is an imported release: parley import chatbench {lacks} --study {request.study}"
        )
    questions = dict(_questions(connection, asked))
    columns = {column.name: column for column in talks[0].table.columns}
    narrow = [replace(chosen, columns=tuple(columns[name] for name in TALKED)) for chosen in talks]
    return _ExampleSource(connection, narrow, questions, dealt(sorted(questions), split), prompts)


def _questions(connection: Connection, asked: RowSelection) -> Iterator[tuple[str, SimulatorQuestion]]:
    """Each question without markup, as in ChatBench's code."""
    known = {column.name: column for column in asked.table.columns}
    for rows in replace(asked, columns=tuple(known.values())).stream(connection, texts=False):
        for row in rows:
            cells = dict(zip(known, row, strict=True))
            options = {key: cells[f"option_{key}"] for key in LETTERS}
            known_options = {key: str(text) for key, text in options.items() if text is not None}
            yield cells["question_id"], SimulatorQuestion(cells["question"], known_options)


def _examples(source: _ExampleSource, left_out: Counter[str]) -> Iterator[tuple[str, Prompt]]:
    """Yield each example with its file."""
    for chosen in source.talks:
        for rows in chosen.stream(source.connection, texts=False):
            for id_, answer, history in rows:
                question, said = source.questions.get(id_), _messages(history)
                why = UNKNOWN if question is None else UNANSWERED if not answer else "" if _spoke(said) else SILENT
                if why:
                    left_out[why] += 1
                elif question is not None:
                    yield from (
                        (source.files[id_], example) for example in examples(question, said, answer, source.prompts)
                    )


def _messages(history: Any) -> Said:
    found = orjson.loads(history) if isinstance(history, str) else history or []
    return [(SPEAKERS[one["role"]], one["content"]) for one in found if one["role"] in SPEAKERS]


def _spoke(said: Said) -> bool:
    return any(who == "You" for who, _ in said)


def _line(example: Prompt) -> bytes:
    messages = [{"role": one["role"], "content": one["text"]} for one in example]
    return orjson.dumps({"messages": messages}, option=orjson.OPT_APPEND_NEWLINE)


def _write(source: _ExampleSource, folder: Path, left_out: Counter[str]) -> tuple[ExportedFile, ...]:
    counts: Counter[str] = Counter()
    with writing(folder, (TRAIN, TEST)) as paths, create(paths[TRAIN]) as train, create(paths[TEST]) as test:
        hashed = {TRAIN: HashingFile(train), TEST: HashingFile(test)}
        for name, example in _examples(source, left_out):
            hashed[name].write(_line(example))
            counts[name] += 1
    return tuple(_file(name, counts[name], hashed[name]) for name in (TRAIN, TEST))


def _file(name: str, rows: int, hashed: HashingFile) -> ExportedFile:
    return ExportedFile(TABLES[name], name, (MESSAGES,), rows, hashed.bytes, hashed.sha256, {})
