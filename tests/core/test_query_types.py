"""Kinds of queries by group: each labelled message is found in the conversation in which it was written, or nowhere."""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from app.analysis import query_types
from app.analysis.mathconverse.query_types import joined
from experiments.instruments.query_labels import HEADERS, WRITE_IN_HEADER
from storage.schemas.mathconverse import EXPERTISE

NAMES = {**HEADERS, "other": WRITE_IN_HEADER}


def labelled(*rows: tuple[str, str, str]) -> pd.DataFrame:
    cells = [
        {"": n, "problem_declaration": "", "previous_interactions": before, "user_query": f"User: {query}"}
        | {header: "y" if name == label else "0" for name, header in NAMES.items()}
        for n, (before, query, label) in enumerate(rows)
    ]
    return pd.DataFrame(cells)


def conversations(*rows: tuple[str, str, list[str], list[str]]) -> pd.DataFrame:
    cells = [
        {
            "model": model, "uid": uid, "human_interactions": repr([f"User: {text}" for text in people]),
            "model_responses": repr([f"AI: {text}" for text in replies]), "mth_bkgrd": EXPERTISE[0], "solo_solve": "3",
        }
        for model, uid, people, replies in rows
    ]  # fmt: skip
    return pd.DataFrame(cells)


TALKS = conversations(
    ("one", "a", ["What is a group?", "Why?"], ["A set.", "So."]),
    ("two", "b", ["Hello", "Why?"], ["Hi.", "So."]),
    ("two", "c", ["Hello"], ["Hey."]),
)


def test_a_message_is_found_by_its_text_and_all_that_was_said_before() -> None:
    ratings = "\n(3) Unlikely to help, but unlikely to hurt\n(6) Completely correct"
    queries = labelled(
        ("No prev", "What is a group?", "definition"),
        (f"User: What is a group?\nAI: A set.{ratings}", "Why?", "reason"),
        ("User: Hello\nAI: Hi.", "Why?", "reason"),
        ("No prev", "Hello", "not-mathematics"),
        ("User: Hello\nAI: Ho.", "Why?", "reason"),
    )
    found = joined(queries, TALKS)
    assert found[["model", "uid", "turn"]].to_numpy().tolist() == [
        ["one", "a", "1"],
        ["one", "a", "2"],
        ["two", "b", "2"],
    ]
    by_name = {one.name: one for finding in query_types(queries, TALKS) for one in finding.estimates}
    reason = by_name["taxonomy.by_model.one.reason"]
    assert (reason.value, reason.n, reason.participants) == (0.5, 2, 1)
    assert by_name["taxonomy.by_turn.2.reason"].value == 1
    assert by_name["taxonomy.by_expertise.undergraduate.definition"].further["count"] == 1
    assert by_name["taxonomy.by_confidence.3.definition"].n == 3


def test_published_queries_are_joined_as_by_plain_loops(shared: Path) -> None:
    with (shared / "annotated_taxonomy_part.csv").open(encoding="utf-8", newline="") as file:
        queries = list(csv.DictReader(file))
    with (shared / "mathconverse_part.csv").open(encoding="utf-8", newline="") as file:
        talks = list(csv.DictReader(file))

    def plain(text: str) -> str:
        kept = [line for line in text.split("\n") if not re.match(r"\([0-6]\) ", line)]
        return re.sub(r"\s", "", "".join(kept))

    places: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for row in talks:
        said, replies = ast.literal_eval(row["human_interactions"]), ast.literal_eval(row["model_responses"])
        for turn, query in enumerate(said):
            before = "".join(a + "\n" + b + "\n" for a, b in zip(said[:turn], replies[:turn], strict=True)) or "No prev"
            places.setdefault((plain(before), re.sub(r"\s", "", query)), []).append((row["model"], turn + 1))
    own: Counter[tuple[str, str]] = Counter()
    sizes: Counter[str] = Counter()
    for row in queries:
        at = places.get((plain(row["previous_interactions"]), re.sub(r"\s", "", row["user_query"])), [])
        if len(at) == 1:
            ((model, _),) = at
            sizes[model] += 1
            own.update((model, name) for name, header in NAMES.items() if row[header] not in ("0", "0.0", ""))
    data = pd.read_csv(shared / "annotated_taxonomy_part.csv", keep_default_na=False)
    data = data.rename(columns={data.columns[0]: ""})
    findings = query_types(data, pd.read_csv(shared / "mathconverse_part.csv", keep_default_na=False))
    found = {one.name: one for finding in findings for one in finding.estimates}
    assert sum(sizes.values()) > 20
    for model, size in sizes.items():
        for name in NAMES:
            one = found[f"taxonomy.by_model.{model}.{name}"]
            assert (one.value, one.n) == (pytest.approx(own[model, name] / size), size)
