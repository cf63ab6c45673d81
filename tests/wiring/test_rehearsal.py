"""Simulated participants have tendencies, so that every figure of every shipped study exists on simulated data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

import pytest

from app.analysis import frame
from app.analysis.figure_names import patterns
from app.analysis.results import NAMES, Results, results
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.studies.loader import shipped
from storage.db.engine import Database, open_database
from tests.fakes.sessions import play, study

SESSIONS = {"arena": 12, "chatbench": 30, "demo": 24, "mathconverse": 14}
MOST = 30
ALONE, REMOVED = "needs runs of models alone", "needs raters whom the release removes"
ANNOTATED = "needs the annotator `answer`"
ANSWERS = ("above_model", "correlation", "correlation_improvement", "linear_fit")
ELSEWHERE: Mapping[str, str] = {
    **{f"chatbench.{name}.<method>.<condition>": ALONE for name in (*ANSWERS, "mean_gap")},
    "chatbench.gap.<dataset>.<model>.<method>.<condition>": ALONE,
    "chatbench.noise_ceiling.<condition>": ALONE,
    **dict.fromkeys(("chatbench.reliance.<measure>.<model>", "chatbench.complementary.<model>"), ANNOTATED),
    "dices.filtered.<reason>": "needs raters with 20 conversations; the sample has 8 for each",
    **{name: REMOVED for name in NAMES if name.startswith("dices.kept.")},
}
"""The figures that sessions of the shipped studies cannot have, and why."""
SOMETIMES = {"chatbench.filter.<step>"}
"""The figures that are there only if a step of the filter leaves somebody out."""
OF_STUDY: Mapping[str, Mapping[str, str]] = {
    "dices-990": {
        **{f"dices.{name}.<gold>": "DICES-990 has no gold ratings" for name in ("said_unsafe", "gold_agreement")},
        "dices.answer_time.<axis>.<group>": "DICES-990 has no times",
    },
    "uplift": dict.fromkeys(
        (
            "chatbench.change.<model>",
            "chatbench.model_gap.<model>.<other>.<answer_type>",
            "chatbench.model_gap.<model>.<other>.user-AI.<condition>",
            "chatbench.transition.corrected.<model>",
            "chatbench.transition.lost.<model>",
        ),
        "one model, and nobody answers before the chat",
    ),
    "demo": {"mathconverse.trend.<rating>": "needs conversations with several messages; the demo's have one"},
}


async def rehearsed(database: Database, name: str) -> Results:
    """The results of a study's sessions, played in memory by participants with tendencies."""
    runtime = SessionService(database, Settings(), VirtualClock(0))
    runtime.studies.register(study(name))
    for number in range(SESSIONS.get(name, MOST)):
        person = f"rehearsal {number}"
        events = tuple(event for _, made in play(study(name), person, person=person) for event in made)
        await runtime.import_session(study(name), person, events)
    await runtime.close()
    return results(database, study(name).name, "bot", whole=True)


def wanted(schemas: tuple[str, ...]) -> set[str]:
    prefixes = {schema.partition("-")[0] + "." for schema in schemas}
    return {name for name in NAMES if any(name.startswith(prefix) for prefix in prefixes)}


@pytest.mark.nightly
@pytest.mark.parametrize("name", shipped())
def test_every_figure_of_a_shipped_study_exists_on_simulated_data(name: str, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/rehearsal.db")
    found = asyncio.run(rehearsed(database, name))
    made = {
        pattern: one for finding in found.findings for one in finding.estimates for pattern in patterns(one.name, NAMES)
    }
    assert all(isfinite(one.value) for one in made.values())
    missing = wanted(found.schemas) - set(made) - SOMETIMES
    assert missing == wanted(found.schemas) & set(ELSEWHERE) | set(OF_STUDY.get(name, {}))
    plausible(database, name, {one.name: one.value for finding in found.findings for one in finding.estimates})
    database.dispose()


def plausible(database: Database, name: str, values: Mapping[str, float]) -> None:
    """Data that rehearse the analysis: neither chance alone nor all the same."""
    if name == "chatbench":
        answers = frame(database, name, "user_answers", "bot")
        check = answers["dataset"] == "attention_check"
        assert answers.loc[check, "acc"].mean() > 0.75
        with_help, alone = (
            answers[~check & (answers["answer_type"] == kind)]["acc"] for kind in ("user-AI", "user-alone")
        )
        assert with_help.mean() > alone.mean() > 0.4
    if name == "mathconverse":
        assert values["mathconverse.pearson.helpfulness_correctness"] > 0.3
    if name.startswith("dices"):
        assert 0.1 < values["dices.answers.Yes"] < 0.7
        assert values["dices.alpha_nominal.Q_overall"] > 0.05
