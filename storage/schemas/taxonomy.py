"""CheckMate's annotated queries (Collins et al., PNAS 2024; annotated_taxonomy.csv): user messages labelled by purpose.

One row for each user message of a labelled conversation. As in the release, a label's column is `y` if the label fits
and `0` if not, the write-in is `0` if it is empty, and `No prev` precedes a first message. The release lists two
ratings below each earlier reply; Parley's conversations have no ratings, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.events import Event
from experiments.instruments.scales import HEADERS, WRITE_IN_HEADER
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.problem_history import problem_turns
from problems.problem import DialogueMessage, Problem
from storage.columns import ChoiceColumn, Column, IntegerColumn, TextColumn
from storage.schemas.base import ReleasedRow, ReleasedTable, Schema

FITS, NOT, FIRST = "y", "0", "No prev"
NAMES = {"user": "User", "bot": "AI"}

LABEL = ChoiceColumn({FITS: "The label fits.", NOT: "The label does not fit."}, ("0.0", "yy", "xw"), blank=True)
# One cell of the release has a sentence in the column for messages that are not about mathematics.
ANYTHING = TextColumn(what="y, 0 or a text", blank=True)


def _short(label: str) -> str:
    return label.replace("-", "_")


RATER, DIALOGUE = "the rater", "the problem's dialogue"
LABEL_COLUMNS = tuple(
    Column(
        header,
        ANYTHING if name == "not-mathematics" else LABEL,
        f"y if the message does this: {header.strip()}.",
        RATER,
        ("labels",),
        stored=_short(name),
    )
    for name, header in HEADERS.items()
)
COLUMNS = (
    Column(
        "",
        IntegerColumn(low=0),
        "The row's number among its annotator's rows, from 0.",
        "the study",
        stored="row_index",
    ),
    Column(
        "problem_declaration",
        TextColumn(blank=True),
        "The problem that the conversation is about, if known.",
        "the problem",
    ),
    Column(
        "previous_interactions",
        TextColumn(),
        "The earlier messages, one per line: 'User: ...', 'AI: ...'; No prev for a first message.",
        DIALOGUE,
    ),
    Column("user_query", TextColumn(), "The labelled message, prefixed with 'User: '.", DIALOGUE),
    *LABEL_COLUMNS,
    Column(
        WRITE_IN_HEADER,
        ANYTHING,
        "The rater's own description, if no label covers the message.",
        RATER,
        ("other",),
        stored="other",
        free_text=True,
    ),
    Column(
        "Orig Idx", IntegerColumn(low=0, blank=True), "The message's number, from 0.", "the order", stored="orig_idx"
    ),
)
QUERIES = ReleasedTable(
    "annotated_taxonomy",
    "annotated_taxonomy.csv",
    COLUMNS,
    ("orig_idx",),
    key=("row_index",),
    counter="orig_idx",
)


def rows(study: Study, state: State) -> list[ReleasedRow]:
    found = [
        item
        for unit in problem_turns(study, state)
        for step in unit.steps
        if step.kind == "label_turns" and step.submitted is not None
        for item in _labelled(unit.problem, step.submitted)
    ]
    return [
        ReleasedRow(QUERIES.name, seq, {"row_index": at, **values, "orig_idx": None})
        for at, (seq, values) in enumerate(found)
    ]


def _labelled(problem: Problem, event: Event) -> Iterator[tuple[int, dict[str, Any]]]:
    asked = [place for place, said in enumerate(problem.dialogue) if said.role == "user"]
    for turn, place in enumerate(asked):
        fitting = event.data.get(f"labels_{turn}") or ()
        values = {
            "problem_declaration": _declared(problem),
            "previous_interactions": "\n".join(map(_line, problem.dialogue[:place])) or FIRST,
            "user_query": _line(problem.dialogue[place]),
            **{_short(name): FITS if name in fitting else NOT for name in HEADERS},
            "other": event.data.get(f"other_{turn}") or NOT,
        }
        yield event.seq, values


def _declared(problem: Problem) -> str | None:
    """The problem of the conversation; None without a problem, where the text is only the last message."""
    return None if problem.text == problem.dialogue[-1].text else problem.text


def _line(message: DialogueMessage) -> str:
    return f"{NAMES[message.role]}: {message.text}"


SCHEMA = Schema(
    name="taxonomy",
    title="CheckMate's annotated queries",
    source="Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.",
    tables=(QUERIES,),
    rows=rows,
    url="https://github.com/collinskatie/checkmate",
    sha256=frozenset({"8aa3e229af2b8519a652d1ee7e9201b98385036e4ff0c353158174aae2c79f65"}),  # at commit 03bc242
    tasks=("text-classification",),
    tags=("human-ai-interaction", "mathematics", "annotation"),
)
