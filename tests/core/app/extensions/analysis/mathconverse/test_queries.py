"""Kinds of queries by group: each labelled message is found in the conversation in which it was written, or nowhere."""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from app.extensions.analysis.public import query_types
from experiments.instruments.scales import HEADERS, WRITE_IN_HEADER

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
    found = {one.name: one for finding in findings for one in finding.estimates}
    assert sum(sizes.values()) > 20
    for model, size in sizes.items():
        for name in NAMES:
            one = found[f"taxonomy.by_model.{model}.{name}"]
            assert (one.value, one.n) == (pytest.approx(own[model, name] / size), size)
