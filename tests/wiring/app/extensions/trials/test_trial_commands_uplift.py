"""The shipped trial `uplift`, walked as docs/trials.md has it: power, preregistration, two looks, the report."""

from __future__ import annotations

import asyncio
import io
import json
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from sqlalchemy import update

from app.studies.loader import read_yaml
from storage import tables
from storage.db.engine import Database, open_database, writer
from tests.fakes import studies
from tests.fakes.commanding import Done, parley
from tests.fakes.databases import fill

pytestmark = pytest.mark.nightly

PEOPLE = 32
SMALL = ("-n", "40", "--effect", "0.1", "--runs", "20", "--workers", "1")
ASSUMED = [
    word
    for assumed in ("baseline=0.4", "icc_participant=0.05", "icc_question=0.1", "dropout=0.1")
    for word in ("--assume", assumed)
]


def take_part(database: Database, file: Path, count: int, seed: str) -> None:
    """Simulated participants, as if they were people: the lock and the looks are about people alone."""
    asyncio.run(fill(database, [str(file)], count, seed))
    now = {"origin": "person", "begun_us": time.time_ns() // 1000}
    with writer(database) as connection, connection.begin():
        connection.execute(update(tables.seats).values(now))
        connection.execute(update(tables.sessions).values(origin="person"))


def test_the_trial_from_power_to_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str, code: int = 0) -> Done:
        done = parley(*words, folder=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    run("new", "uplift", "--template", "uplift")
    file = tmp_path / "uplift" / "study.yaml"
    raw = read_yaml(file)
    raw["plan"] |= {"participants": PEOPLE}
    raw["quotas"] = [{"max": PEOPLE}]
    file = studies.write(tmp_path, raw)
    power = json.loads(run("trial", "power", file.name, *ASSUMED, *SMALL, "--json").stdout)
    assert power

    run("publish", file.name)
    run("trial", "preregister", "uplift", "--record")
    run("recruit", "pilot", "uplift")
    run("recruit", "open", "uplift")
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    take_part(database, file, PEOPLE // 2, "1")
    run("report", "uplift", "-o", "early.csv", code=2)
    first = json.loads(run("trial", "look", "uplift", "--json").stdout)
    assert (first["look"], first["complete"], first["effect"]) == (1, PEOPLE // 2, "A minus B")
    run("trial", "look", "uplift", code=2)
    take_part(database, file, PEOPLE // 2, "2")
    last = json.loads(run("trial", "look", "uplift", "--json").stdout)
    assert (last["look"], last["complete"], last["effect"]) == (2, PEOPLE, "treatment minus control")

    printed = io.StringIO()
    monkeypatch.setenv("PARLEY_DATABASE_URL", f"sqlite:///{tmp_path}/parley.db")
    code = (tmp_path / "uplift-preregistration" / "analysis.py").read_text(encoding="utf-8")
    with redirect_stdout(printed):
        exec(code, {})
    run("report", "uplift", "-o", "report.json")
    figures = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["figures"]
    sentence = figures["trial.difference.uplift"]["sentence"]
    assert sentence in printed.getvalue(), "the preregistered code finds what the report has"
    status = json.loads(run("show", "status", "uplift", "--json").stdout)
    assert (status["trial"]["planned_looks"], status["trial"]["unplanned_looks"]) == (2, 0)
    assert status["trial"]["deviations"] == []
