"""Released files as their authors would have written them: Hypothesis strategies, pandas' `to_csv`, `json.dump`.

Each strategy gives a Release: its files, whose rows can be written whole, shuffled or in parts. No two rows of a file
are about the same thing, so that parts never contradict each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd
from hypothesis import strategies as st

from experiments.instruments.dices_safety import columns as reasons_of
from experiments.instruments.scales import HEADERS, WRITE_IN_HEADER
from storage.columns import ChoiceColumn, Column, IntegerColumn, JsonColumn, LabelList, NumberColumn
from storage.schemas.base import ReleasedTable
from storage.schemas.chatbench import QUESTIONS
from storage.schemas.dices import OVERALL, beneath, combined
from storage.schemas.registry import schema

PARTS = ("full_study", "pilot_1_no_incentives", "pilot_2_w_incentives_math")
NASTY = (
    *("NA", "null", "None", "nan", "N/A", "MISSING", "True", "007", "1.0", "1e5", "12345678901234567890", "3.14159"),
    *("=1+1", "+49 30", "-x", "@you", "\t=A1", "'", '"', '""', 'a "b" c', "a,b", "a;b", "#", "\\", "\\n", "\\N"),
    *("two\nlines", "CR\r\nLF", "lone\rCR", "\n", " both ends ", "\u00a0", "\x0b\x1c\x85\u2028\u2029", "\ufeff"),
    *(
        r"\(x^2 \le \frac{1}{2}\)",
        r"$\nabla f$",
        "😀👩‍👩‍👧🏳️‍🌈",
        "שלום עולם",
        "\u202eabc 1\u202c",
        "e\u0301",
        "0" * 3_000,
    ),
)


@dataclass(frozen=True)
class File:
    """A file of a release: where it lies, and its rows as a frame (csv) or as objects (JSON, spaced by `indent`)."""

    path: str
    rows: Any
    indent: int | None = None

    def write(self, folder: Path, picks: Sequence[int] | None = None) -> Path:
        target = folder / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.content(picks))
        return target

    def content(self, picks: Sequence[int] | None = None) -> bytes:
        picks = range(len(self.rows)) if picks is None else picks
        if isinstance(self.rows, pd.DataFrame):
            return self.rows.iloc[list(picks)].to_csv(index=False, lineterminator="\n").encode()
        return json.dumps([self.rows[n] for n in picks], ensure_ascii=False, indent=self.indent).encode()

    def same(self, content: bytes, picks: Sequence[int] | None = None) -> bool:
        """Return True if a file is this one: to the byte, or for JSON the same objects, keys in order, with the same
        types."""
        if isinstance(self.rows, pd.DataFrame):
            return content == self.content(picks)
        return json.dumps(json.loads(content)) == json.dumps(json.loads(self.content(picks)))


Release = list[File]


def _quotable(text: str) -> str:
    """A text whose carriage returns stand within quotes: Python 3.11's writer leaves them bare, which tears the row."""
    return text + "," if "\r" in text and not {",", '"', "\n"} & set(text) else text


anything = (
    st.lists(
        st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
        min_size=1,
        max_size=3,
    )
    .map("".join)
    .filter(bool)
)
texts = anything.map(_quotable)
some = st.none() | texts


def _either(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


turn_of = st.fixed_dictionaries({"role": _either("user", "assistant"), "content": st.just("") | anything})
judges = _either("a1B2c3D4e5", "0123456789", "arena_user_7")


def _rows(
    cells: Mapping[str, st.SearchStrategy[Any]], about: Sequence[str], least: int = 0, most: int = 5
) -> st.SearchStrategy[list[dict[str, Any]]]:
    rows = st.fixed_dictionaries(dict(cells)).map(lambda row: {name: row[name] for name in cells})
    return st.lists(rows, min_size=least, max_size=most, unique_by=lambda row: tuple(row[name] for name in about))


def _csv(path: str, rows: Sequence[Mapping[str, Any]], header: Sequence[str]) -> File:
    """A csv as pandas writes it: numbers become floats where one of them is unknown."""
    return File(path, pd.DataFrame([[row[name] for name in header] for row in rows], columns=list(header)))


def _cell(column: Column) -> st.SearchStrategy[Any]:
    form = column.form
    found: st.SearchStrategy[Any]
    match form:
        case ChoiceColumn():
            found = st.sampled_from(list(form.values))
        case LabelList():
            found = st.lists(st.sampled_from(form.values), min_size=1, max_size=3).map(",".join)
        case IntegerColumn():
            found = st.integers(form.low or 0, 2**53 if form.high is None else form.high)
        case NumberColumn():
            found = st.floats(max(form.low, 0), min(form.high, 2e9))
        case JsonColumn():
            found = st.booleans() if form.shape == "boolean" else st.lists(turn_of, max_size=3)
        case _:
            found = texts
    return st.none() | found if form.blank else found


def _cells(table: ReleasedTable, own: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, st.SearchStrategy[Any]]:
    """Return a strategy for the cells of each column: its `own`, or one by the column's form."""
    return {column.name: own.get(column.name, _cell(column)) for column in table.columns}


ABOUT = ("worker_id", "model", "condition", "subject", "position", "question_id", "answer_type")
TRUTHS: tuple[Callable[[int | None], Any], ...] = (
    lambda acc: acc,
    lambda acc: None if acc is None else bool(acc),
    lambda acc: None if acc is None else float(acc),
)
PHASES: tuple[Mapping[int, Any], ...] = ({1: 1, 2: 2}, {1: "pretest", 2: "test"})
ANSWERS: Mapping[str, st.SearchStrategy[Any]] = _cells(
    schema("chatbench").tables[0],
    {
        "worker_id": _either("a1B2c3D4e5", "0123456789", "NaNNaNNaNN", "1e10000000"),
        "phase": st.just(1),  # follows from the position: a participant's first phase comes before the second
        "position": st.integers(0, 12),
        "question_id": _either("moral_scenarios-redux-7", "moral_reasoning-redux-7", "attention_check-1") | texts,
    },
)
said = st.fixed_dictionaries({"role": _either("You", "Bot"), "content": st.just("") | anything})
chats = st.lists(said, max_size=3) | st.lists(said, min_size=40, max_size=40)
CONVERSATIONS: Mapping[str, st.SearchStrategy[Any]] = {
    **ANSWERS,
    "chat_history": chats,
    "user_effort": _either("tried", "known", "low effort", "") | st.none(),
    "attempted_answer": st.booleans() | st.none() | st.just(""),
    "answer_val": st.none() | st.just("") | anything | st.integers(1 - 2**63, 2**63 - 1) | st.floats(-9, 9),
    "answer_letter": _either(*"ABCD", "") | st.none(),
}
LETTER_METHODS = ("letter_only_zero_shot", "letter_only_few_shot")
COUNTS = [f"{method}_count" for method in (*LETTER_METHODS, "free_text")]
SHARES = [f"{method}_acc" for method in (*LETTER_METHODS, "free_text")]
OPTIONAL = [f"{name}_valid" for name in SHARES]
INVALID = [name.replace("_count", "_invalid") for name in COUNTS]


@st.composite
def chatbench(draw: st.DrawFn) -> Release:
    """ChatBench's release: three collections, whichever files of each, cells spelled in one way in a file."""
    files = []
    for part in draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3, unique=True)):
        files.append(_csv(f"{part}/user_answers.csv", _spelled(draw, draw(_rows(ANSWERS, ABOUT))), list(ANSWERS)))
        talks = _spelled(draw, draw(_rows(CONVERSATIONS, ABOUT, most=3)))
        files.append(File(f"{part}/conversations.json", talks, draw(st.sampled_from([None, 2]))))
    rows = _spelled(draw, draw(_rows(ANSWERS, ABOUT)))
    files.append(_csv("full_study/user_answers_filtered.csv", rows, list(ANSWERS)))
    questions = _cells(QUESTIONS, {"answer": _either(*"ABCD")})
    files.append(_csv(QUESTIONS.file, draw(_rows(questions, ["question_id"])), list(questions)))
    return [*files, draw(alone())]


def _spelled(draw: st.DrawFn, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows in one spelling each, without contradictions: the position decides the phase, the question the batch."""
    truth, phases = draw(st.sampled_from(TRUTHS)), draw(st.sampled_from(PHASES))
    for row in rows:
        row["question_id"] += f"-{row['position']}"
        row["batch"] = None if row["batch"] is None else crc32(row["question_id"].encode())
    return [row | {"acc": truth(_judged(row)), "phase": phases[1 if row["position"] < 5 else 2]} for row in rows]


def _judged(row: Mapping[str, Any]) -> int | None:
    """A question has one right option, here B, so that no two rows contradict each other."""
    judged = row["acc"] is not None and row["selected_answer"] is not None
    return int(row["selected_answer"] == "B") if judged else row["acc"]


@st.composite
def alone(draw: st.DrawFn) -> File:
    """The models asked alone: with any of the columns that not every copy has, in any order."""
    share, count = st.none() | st.floats(0, 1), st.none() | st.integers(0, 50)
    there = draw(st.lists(st.sampled_from([*OPTIONAL, *INVALID]), unique=True))
    cells: dict[str, st.SearchStrategy[Any]] = {"model": texts, "dataset": texts, "question_id": texts}
    cells |= dict.fromkeys([*SHARES, *(name for name in there if name not in INVALID)], share)
    cells |= dict.fromkeys(COUNTS, count)
    cells |= dict.fromkeys((name for name in there if name in INVALID), st.sampled_from([None, 0]))
    header = draw(st.permutations(list(cells)))
    return _csv("ai_alone_answers.csv", draw(_rows(cells, ["model", "question_id"])), header)


@st.composite
def mathconverse(draw: st.DrawFn) -> Release:
    """CheckMate's conversations: lists as Python writes them, some of them empty, some of twenty turns."""
    missing = st.just("MISSING")
    cells: dict[str, st.SearchStrategy[Any]] = {
        "": st.integers(0, 8),
        "model": texts,
        "turns": st.integers(0, 3) | st.just(20),
        "time_taken": st.floats(0, 1e7),
        "solo_solve": _either(*"0123456") | missing,
        "problem_name": texts,
        "final_prefs": missing
        | st.fixed_dictionaries(dict.fromkeys(("instructgpt", "chatgpt", "chatgpt4"), st.integers(1, 3))).map(repr),
        "interaction_set_idx": st.integers(0, 2),
        "uid": _either("6a1c4f3e-6f0e-4b7e-9a55-1f0a6d2c9b11", "00000000-0000-4000-8000-000000000000"),
        "mth_bkgrd": _either("Undegraduate degree in mathematics", "PhD in mathematics"),
        "ai_play_bkgrd": _either("Never", "A couple of times a month", "Daily"),
        "selected_topic": _either("Algebra", "Topology", "Linear Algebra"),
        "seen_problem_sets": st.lists(st.integers(0, 17), max_size=3).map(repr),
    }
    rows = draw(_rows(cells, ["", "uid"]))
    for row in rows:
        many = row["turns"]
        for name, start in (("human_interactions", "User: "), ("model_responses", "AI:")):
            row[name] = repr([start + draw(st.just("") | anything) for _ in range(many)])
        for name in ("helpfulness_ratings", "correctness_ratings"):
            row[name] = repr(draw(st.lists(st.integers(0, 6), min_size=many, max_size=many)))
    (table,) = schema("mathconverse").tables
    return [_csv(table.file, rows, table.header)]


@st.composite
def taxonomy(draw: st.DrawFn) -> Release:
    label = st.none() | _either("0", "0.0", "y", "yy", "xw")
    cells = {"": st.integers(0, 52), "problem_declaration": some, "previous_interactions": texts, "user_query": texts}
    cells |= dict.fromkeys(HEADERS.values(), label)
    cells |= {HEADERS["not-mathematics"]: label | texts, WRITE_IN_HEADER: some, "Orig Idx": st.integers(0, 260)}
    return [_csv("annotated_taxonomy.csv", draw(_rows(cells, ["Orig Idx"])), list(cells))]


@st.composite
def dices(draw: st.DrawFn, edition: str) -> Release:
    (table,) = schema(edition).tables
    raters = _either("296708581782793", "007000000000000", "297514543980607")
    items = st.integers(0, 350).map(str) | texts.filter(str.strip)
    cells = _cells(table, {"id": st.integers(0, 10**6), "item_id": items, "rater_id": raters})
    rows = draw(_rows(cells, ["id"], most=3))
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        for key, names in table.same_for.items():
            earlier = first.setdefault((key, row[key]), row)
            row |= {name: earlier[name] for name in names}
        assert set(reasons_of(edition)) <= row.keys()
        row |= {name: combined(row[reason] for reason in beneath(name, edition)) for name in OVERALL[edition]}
    return [_csv(table.file, rows, table.header)]


@st.composite
def arena(draw: st.DrawFn) -> Release:
    votes, pairs = schema("arena").tables
    talks = draw(_rows(_cells(pairs, {"judge": judges}), ["question_id"], most=3))
    return [
        _csv(votes.file, draw(_rows(_cells(votes, {"participant": judges}), ("conversation", "turn"))), votes.header),
        File(pairs.file, talks, draw(_either(None, 2))),
    ]


part_of = st.fixed_dictionaries(
    {"type": st.just("text"), "text": st.just("") | anything, "image": st.none(), "mimeType": st.none()}
)
message_of = st.fixed_dictionaries({"role": _either("user", "assistant"), "content": st.lists(part_of, max_size=2)})


@st.composite
def arena_2025(draw: st.DrawFn) -> Release:
    """The arena's votes of 2025."""
    (table,) = schema("arena-2025").tables
    talk, sides = st.lists(message_of, max_size=2), ("model_side_a", "model_side_b")
    whole = st.fixed_dictionaries({"user": message_of, **dict.fromkeys(sides, st.none() | message_of)})
    counts = st.fixed_dictionaries({"turns": st.integers(1, 9), "bold_count_a": st.just({"**": 65, "__": 0})})
    cells = _cells(
        table,
        {
            "evaluation_session_id": judges,
            "conversation_a": talk,
            "conversation_b": talk,
            "full_conversation": st.lists(whole, max_size=2),
            "conv_metadata": st.none() | counts,
            "category_tag": st.just({"math_v0.1": {"math": False}}),
            "timestamp": st.just("2025-05-29T14:48:41.602925"),
        },
    )
    return [File(table.file, draw(_rows(cells, ["id"], most=3)), draw(_either(None, 2)))]


RELEASES: Mapping[str, st.SearchStrategy[Release]] = {
    "chatbench": chatbench(),
    "mathconverse": mathconverse(),
    "taxonomy": taxonomy(),
    "dices-350": dices("dices-350"),
    "dices-990": dices("dices-990"),
    "arena": arena(),
    "arena-2025": arena_2025(),
}
