"""CheckMate's annotated queries: labels counted as in the release, slips included, and each message's conversation."""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from app.extensions.analysis.mathconverse.queries import marks
from app.extensions.analysis.public import query_labels, query_types
from experiments.instruments.scales import HEADERS, WRITE_IN_HEADER
from tests.fakes.figures import named

NAMES = {**HEADERS, "other": WRITE_IN_HEADER}


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
    found = named(findings)
    assert sum(sizes.values()) > 20
    for model, size in sizes.items():
        for name in NAMES:
            one = found[f"taxonomy.by_model.{model}.{name}"]
            assert (one.value, one.n) == (pytest.approx(own[model, name] / size), size)


def queries(*rows: dict[str, object]) -> pd.DataFrame:
    """Messages with the labels that are given, each the first of a conversation about nothing."""
    none = dict.fromkeys(NAMES, "0")
    filled = [{**none, **row} for row in rows]
    data = pd.DataFrame([{NAMES[name]: row[name] for name in NAMES} for row in filled], columns=list(NAMES.values()))
    for column, values in (
        ("user_query", "User: " + pd.Series(map(str, range(len(rows))), dtype=str)),
        ("", range(len(rows))),
    ):
        data[column] = list(values)
    return data.assign(previous_interactions="No prev", problem_declaration=None)


def test_every_mark_but_nought_counts_and_a_write_in_is_no_label() -> None:
    data = queries(
        {"definition": "y", "reason": "xw"}, {"definition": "yy"}, {"not-mathematics": "A whole sentence."},
        {"other": "a joke"}, {"definition": None, "other": 0.0}, {"definition": float("nan"), "reason": ""},
    )  # fmt: skip
    findings = query_labels(data)
    found = named(findings)
    assert {name: one.further["count"] for name, one in found.items() if one.value} == {
        "taxonomy.label.definition": 2, "taxonomy.label.reason": 1, "taxonomy.label.not-mathematics": 1,
        "taxonomy.label.other": 1, "taxonomy.labels.none": 3, "taxonomy.labels.several": 1,
    }  # fmt: skip
    assert (found["taxonomy.label.definition"].value, found["taxonomy.label.definition"].n) == (2 / 6, 6)
    assert findings[0].note == "6 of 6 messages begin a conversation."
    assert marks(data).to_numpy().sum() == 5
