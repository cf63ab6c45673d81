"""A trial with waves counts people, each once, and not their sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from app.extensions.trials.outcomes import read_trial
from app.extensions.trials.reads.plan_events import complete_people, started_before
from storage.registers.persons import person_of
from tests.fakes import waves
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
ASK = {"step": "survey", "questions": [{"type": "number", "name": "trust", "text": "Trust?"}]}
CONTRAST = {"factor": "help", "treatment": "assistant", "control": "alone"}
PLAN: dict[str, Any] = {
    "participants": 4,
    "hypotheses": [
        {"id": id_, "claim": "It differs.", "outcome": outcome, "direction": "different", "contrast": CONTRAST}
        for id_, outcome in (("time", "seconds"), ("trust", "survey.trust"))
    ],
}


async def test_a_person_of_two_waves_is_one_participant_who_is_complete_after_the_last(tmp_path: Path) -> None:
    two: list[dict[str, Any]] = [
        {"wave": f"Week {n}", "flow": [ASK, {"step": "finish", "code": f"W{n}"}]} for n in (1, 2)
    ]
    two[1] |= {"opens": {"after": "1 hour"}}
    study, clock = waves.study(waves=two, plan=PLAN), VirtualClock(waves.us("2027-03-21 20:00"))
    trial = Sitting(tmp_path, study, clock)
    database, plan, streams = trial.database, study.file.plan, []
    assert plan
    for seed in "01":
        await trial.begin(seed)
        clock.advance(60)
        streams.append((await trial.finish(seed)).live.stream)
    assert (complete_people(database, "weeks"), started_before(database, "weeks", clock.now_us() + 1)) == (0, 2)
    clock.advance(2 * 3_600)
    first = person_of(database, streams[0])
    assert first
    trial.live = await trial.service.begin_wave(first)
    clock.advance(60)
    await trial.finish("9")
    assert (complete_people(database, "weeks"), started_before(database, "weeks", clock.now_us() + 1)) == (1, 2)
    data = read_trial(database, "weeks", "person", plan)
    assert [(one.complete, one.outcome) for one in data.sessions] == [(True, "complete"), (False, "")]
    whose = data.sessions[0].session
    (seconds,) = data.values["seconds"]
    assert (seconds.session, seconds.value >= 120) == (whose, True)
    trust = [one for one in data.values["survey.trust"] if one.session == whose]
    assert len({one.order for one in trust}) == len(trust) == 2
    assert trust[0].order < trust[1].order
    await trial.close()
