"""A trial's preregistration and what deviates from it, by the commands and in people's sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from app.extensions.trials.deviations import deviations
from app.extensions.trials.reads.plan_events import plan_events, record_preregistration
from app.studies.loader import load_study, read_yaml
from storage.db.engine import Database, open_database
from storage.registers.study_status import set_status
from storage.registers.study_versions import publish
from tests.fakes import studies
from tests.fakes.commanding import Done, parley
from tests.fakes.visits import Visits, begin

pytestmark = pytest.mark.anyio
TRIAL = """
study: uplift
title: Do people answer better with an assistant?
problems: {questions: {source: chatbench}}
models: {tutor: {backend: scripted}}
factors: {arm: [alone, assistant]}
plan:
  participants: 40
  looks: {at: [0.5, 1]}
  hypotheses:
    - id: uplift
      claim: People answer more questions correctly with the assistant than alone.
      outcome: correct
      contrast: {factor: arm, treatment: assistant, control: alone}
      direction: greater
      smallest_effect: 0.1
flow:
  - {step: consent, text: This is a study with an AI assistant., checkbox: I agree.}
  - each: question
    of: questions
    take: 2
    do: {by: arm, pick: {alone: user-alone, assistant: direct-to-AI}}
  - step: finish
"""


@pytest.fixture
async def visits(tmp_path: Path, database: Database) -> AsyncIterator[Visits]:
    """Somebody took part, and after a minute the plan was preregistered."""
    found = begin(tmp_path, database)
    publish(database, found.study, by="researcher", at_us=found.clock.now_us())
    set_status(database, "short", "opened", {}, by="researcher", at_us=found.clock.now_us())
    await found.take_part("ada", "zqadaqz")
    yield found
    await found.runtime.close()


def preregister(visits: Visits) -> None:
    visits.clock.advance(60)
    study = visits.study
    record_preregistration(visits.database, study.name, study.hash, 1, {}, at_us=visits.clock.now_us())


def names(visits: Visits) -> list[str]:
    return [one.name for one in deviations(visits.database, visits.study.name)]


def test_a_preregistration_holds_the_study_and_is_recorded_with_the_hashes_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "trial.yaml").write_text(TRIAL, encoding="utf-8")

    def run(*words: str, code: int = 0) -> Done:
        done = parley(*words, folder=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    run("publish", "trial.yaml")
    run("trial", "preregister", "uplift")
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    assert plan_events(database, "uplift").preregistrations == (), "nothing is recorded before --record"
    folder = tmp_path / "uplift-preregistration"
    filled = (folder / "osf.md").read_text(encoding="utf-8").replace("to be written by the authors", "Ada Lovelace")
    (folder / "osf.md").write_text(filled, encoding="utf-8")
    run("trial", "preregister", "uplift", code=2)
    run("trial", "preregister", "uplift", "--record")
    assert (folder / "osf.md").read_text(encoding="utf-8") == filled, "what the author wrote is kept"
    (recorded,) = plan_events(database, "uplift").preregistrations
    study = load_study(str(tmp_path / "trial.yaml"))
    written = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    assert (recorded.hash, recorded.files) == (study.hash, written)
    assert (folder / "study.json").read_text(encoding="utf-8").strip() == study.document
    for form in ("osf.md", "aspredicted.md"):
        text = (folder / form).read_text(encoding="utf-8")
        assert all(words in text for words in (study.hash, "arm, between participants: alone (50%), assistant (50%)"))
    compile((folder / "analysis.py").read_text(encoding="utf-8"), "analysis.py", "exec")
    assert json.loads(run("show", "deviations", "uplift", "--json").stdout) == []

    changed = read_yaml(tmp_path / "trial.yaml")
    changed["version"], changed["plan"]["participants"] = 2, 50
    studies.write(tmp_path, changed)
    run("publish", "uplift.yaml")
    (found,) = json.loads(run("show", "deviations", "uplift", "--json").stdout)
    assert found["reason"] == ""
    run("trial", "explain", "uplift", "no-such", "x", code=2)
    run("trial", "explain", "uplift", found["name"], "A site joined.")
    assert json.loads(run("show", "deviations", "uplift", "--json").stdout) == [found | {"reason": "A site joined."}]


async def test_people_before_it_exclusions_and_an_early_end_are_deviations(visits: Visits) -> None:
    preregister(visits)
    assert names(visits) == ["late"]
    visits.clock.advance(60)
    await visits.take_part("bob", "zqbobqz")
    await visits.runtime.remark(visits.streams["bob"], "excluded", "He slept.", "ada")
    late, out = deviations(visits.database, "short")
    assert (late.name, out.name, out.reason) == ("late", "exclusion-2", "He slept.")
    set_status(visits.database, "short", "closed", {"why": "It rained."}, by="researcher", at_us=visits.clock.now_us())
    assert "closed" not in names(visits), "no number of participants was planned"
    set_status(visits.database, "short", "opened", {}, by="researcher", at_us=visits.clock.now_us())
    last = deviations(visits.database, "short")[-1]
    assert (last.name, last.reason) == ("reopened-1", "It rained."), "its outcomes could be seen meanwhile"
