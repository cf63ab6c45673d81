"""A study with numbers, recommendations and confidence, from its file to its figures, by simulated participants."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

import app.analysis as notebook
from app.analysis.report import FORMATS, build_report
from app.analysis.results import results
from app.analysis.tidy_frames import load
from storage.db.engine import open_database
from tests.fakes.databases import fill
from tests.fakes.studies import write

WEIGHTS = """question,answer,unit,tolerance,advice
How heavy is a brick?,2.3,kg,10 %,2.2
How heavy is a letter?,20,g,5,40
"""
NUMBER = {"number": {"minimum": 0, "maximum": 100}}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("advice")
    (folder / "weights.csv").write_text(WEIGHTS, encoding="utf-8")
    chat = {"step": "chat", "answer": True, "ask_confidence": True, "max_messages": 2, **NUMBER}
    raw = {
        "study": "weights",
        "title": "Weights",
        "models": {"m": {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}}},
        "problems": {"weights": {"path": "weights.csv"}, "more": {"path": "weights.csv"}},
        "flow": [
            {"step": "consent", "text": "May we?"},
            {
                "each": "question",
                "of": "weights",
                "do": "advice-taking@1",
                "with": {"alone": NUMBER, "advised": NUMBER},
            },
            {"each": "again", "of": "more", "take": 1, "flow": [{"step": "confidence", "points": True}, chat]},
            {"step": "finish", "text": "Thanks."},
        ],
    }
    return str(write(folder, raw))


def test_from_the_file_to_the_figures(study: str, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/weights.db")
    asyncio.run(fill(database, [study], 8, "1"))
    answers = load("weights", "bot", database=database).answers
    given = answers[answers["question"] == "answer"]
    assert len(given) == 8 * 5
    assert given["number"].between(0, 100).all()
    brick = given[given["wording"].isna() & (given["problem"] == "weights-1")]
    assert (brick["correct"] == brick["number"].between(2.07, 2.53).astype("Int64")).all()
    advised = given[given["advice"].notna()]
    assert set(advised["advice"]) == {"2.2", "40.0"}
    assert set(zip(advised["advice"], advised["advice_correct"], strict=True)) == {("2.2", 1), ("40.0", 0)}
    sure = answers[answers["question"].isin(("answer_confidence", "confidence_points"))]
    assert sure["number"].between(0, 100).all()
    assert len(sure) == 8 * 6
    found = {
        one.name: one
        for finding in results(database, "weights", "bot", whole=True).findings
        for one in finding.estimates
    }
    own, final = (advised_pair(given, problem) for problem in ("weights-1", "weights-2"))
    cut = [np.clip((f - i) / (a - i), 0, 1) for i, a, f in (*own, *final)]
    assert found["advice.weight.all"].value == pytest.approx(np.mean(cut), abs=1e-9)
    for name in ("advice.brier.alone", "advice.brier.with_AI", "advice.overconfidence.change", "advice.reliance.over"):
        assert found[name].n > 0
    made = build_report(database, "weights", "bot", 0)
    known = {**vars(notebook), "database": database, "study": "weights", "origin": "bot"}
    for finding in (one for one in made.findings if one.name.startswith("advice.")):
        assert finding.name in {one.name for one in eval(finding.code, dict(known))}
    texts = {form: write_report(made) for form, write_report in FORMATS.items()}
    assert "Calibration curve" in texts["html"] or "Share of right answers" in texts["html"]
    assert "advice.weight.all" in json.loads(texts["json"])["figures"]
    assert "Weight of advice" in texts["md"]
    database.dispose()


def advised_pair(given, problem):  # type: ignore[no-untyped-def]
    of = given[(given["problem"] == problem) & given["path"].str.contains("question")]
    for _, some in of.groupby("session"):
        first, second = (row for _, row in some.sort_values("seq").iterrows())
        yield first["number"], float(second["advice"]), second["number"]
