"""The arrangement of a report: main results first, each finding once, and values in the declared order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.extensions.analysis import dices, mathconverse
from app.extensions.analysis.chatbench.accuracy import COUNTED_COLUMNS as COLUMNS
from app.extensions.analysis.chatbench.by_dataset import ALONE_COLUMNS
from app.extensions.analysis.estimates import SHARE, WAYS, estimate
from app.extensions.analysis.intervals import Interval
from app.extensions.analysis.public import (
    Finding,
    accuracy,
    accuracy_by_dataset,
    accuracy_table,
    correlations,
    counted,
    filter_counts,
    gaps,
    questions,
    transitions,
)  # fmt: skip
from app.extensions.analysis.report.build import FEWEST, TOO_FEW, grid, sections
from tests.fakes.figures import named
from tests.fakes.planted import MODELS, Planted, drawn


@cache
def chatbench() -> tuple[Finding, ...]:
    planted = drawn(Planted(participants=60), np.random.default_rng(4)).assign(subject="x", batch=0)
    data = planted[list(COLUMNS)].astype("object").astype({"acc": "Int64"})
    easy = data.groupby(["model", "dataset", "question_id"])["acc"].mean().astype("float64")
    rows = [(*of, 50, share / 2, 50, share / 2, 50, share) for of, share in easy.items()]
    alone = pd.DataFrame(rows, columns=list(ALONE_COLUMNS))
    kept = counted(data)
    return (
        *accuracy(data), *filter_counts(data, data, alone), *accuracy_by_dataset(kept, alone),
        *gaps(accuracy_table(kept, alone)), *questions(kept, alone), *correlations(kept, alone), *transitions(kept),
    )  # fmt: skip


@cache
def published(shared: Path) -> tuple[Finding, ...]:
    talks = pd.read_csv(shared / "mathconverse_part.csv", keep_default_na=False)
    queries = pd.read_csv(shared / "annotated_taxonomy_part.csv", keep_default_na=False)
    tables = {
        "mathconverse_interactions": talks,
        "annotated_taxonomy": queries.rename(columns={queries.columns[0]: ""}),
    }
    parts = (*mathconverse.PARTS, *mathconverse.TAXONOMY)
    return tuple(finding for part in parts for finding in part.analyse({name: tables[name] for name in part.tables}))


@cache
def rated(shared: Path) -> tuple[Finding, ...]:
    """The published verdicts of DICES-350, of raters of two made-up groups, without the slow permutations."""
    wide = pd.read_csv(shared / "dices350_q_overall_part.csv", dtype=str).iloc[:20]
    rows = wide.melt(["item_id", "safety_gold"], var_name="rater_id", value_name="Q_overall")
    odd = rows["rater_id"].str[-1].isin(list("13579"))
    found: list[Finding] = []
    for part in dices.parts("dices-350"):
        ((name, needed),) = part.tables.items()
        data = rows.assign(**{column: "No" for column in needed if column not in rows})
        data = data.assign(
            rater_gender=odd.map({True: "Man", False: "Woman"}), rater_age="gen z", degree_of_harm="Benign"
        )
        if "answer_time_ms" in needed:
            data["answer_time_ms"] = 50_000
        if "groups" not in part.call.code:
            found += part.analyse({name: data[list(needed)]})
    return tuple(found)


def short(findings: Sequence[Finding]) -> list[str]:
    return [line for section in sections(findings) for line in section.main]


def test_chatbench_begins_with_gaps_between_models_alone_and_people_with_them() -> None:
    found, lines = named(chatbench()), short(chatbench())
    wanted = [
        "mean_gap.free_text.all",
        "mean_gap.letter_only_few_shot.all",
        f"model_gap.{MODELS[0]}.{MODELS[1].replace('.', '_')}.free_text",
    ]
    assert lines[:3] == [found[f"chatbench.{name}"].sentence for name in wanted]
    people = [finding for finding in chatbench() if finding.name in ("chatbench.accuracy_by_model", "chatbench.change")]
    assert short(people) == [one.sentence for one in people[0].estimates], "without models alone, the first finding"


@pytest.mark.parametrize(("participants", "n"), [(FEWEST, FEWEST), (0, FEWEST), (FEWEST - 1, 200), (0, FEWEST - 1)])
def test_a_main_result_needs_ten_participants_or_answers_of_models_alone(participants: int, n: int) -> None:
    known = ("chatbench.accuracy_by_model.m", "m", {"model": "m"}, (n, participants))
    one = estimate(*known, Interval(0.5), "It was {}", SHARE, "answers")
    finding = Finding("chatbench.accuracy_by_model", "Accuracy", "answers", SHARE, (0, 1), (one,), "", "")
    assert short([finding]) == [one.sentence if (participants or n) == FEWEST else TOO_FEW]


@pytest.mark.parametrize("schema", ["chatbench", "mathconverse", "dices"])
def test_each_finding_is_there_once_and_each_estimate_in_one_cell(schema: str, shared: Path) -> None:
    findings = chatbench() if schema == "chatbench" else (published if schema == "mathconverse" else rated)(shared)
    shown = [finding for section in sections(findings) for finding in section.findings]
    assert sorted(one.name for one in shown) == sorted(one.name for one in findings)
    for finding in shown:
        if table := grid(finding):
            names = [one.name for row in table.rows for one in row.cells if one]
            assert sorted(names) == sorted(one.name for one in finding.estimates)
            labels = (*table.heads, *(row.label for row in table.rows))
            assert not [one for one in labels if {*WAYS, "answer_type", "method"} & {*re.split("[:,.] ?", one)}]
