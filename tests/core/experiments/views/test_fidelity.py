"""The shipped study whose models break the rules of their condition at planted rates."""

from __future__ import annotations

from collections import Counter
from math import sqrt

import pytest

from app.backends.scripted import ScriptedOptions, reply
from app.session.replies.request import request_for
from experiments.events import Action
from experiments.session.engine import pending_tasks
from experiments.study.study import Study
from experiments.views.fidelity import Adherence, added_up, adherence, verdicts
from tests.fakes.driven import Driven
from tests.fakes.sessions import study

KEPT = {"tutor-asks": 0.85, "tutor-holds-back": 0.85, "teller-answers": 0.9, "teller-is-short": 0.9}
SESSIONS, TURNS, Z = 60, 4, 1.959964


def talked(of: Study, seed: str) -> Adherence:
    """The adherence in a session with so many turns about its first question."""
    session = Driven(of, seed).do(agreed=True)
    for number in range(TURNS):
        session.do("say", text=f"Well? {number}")
        (job,) = pending_tasks(of, session.state)
        request = request_for(of, job.data, job.data["model"], f"{seed}:{number}")
        text = reply(request, ScriptedOptions.model_validate(dict(request.options)))
        session.send(Action("reply", job.path, {"model": job.data["model"], "text": text}, 0, by="model"))
    return adherence(verdicts(session.state.events))


def by_rule(found: Adherence) -> dict[str, tuple[int, int]]:
    kept, all_ = Counter[str](), Counter[str]()
    for cell, count in found.items():
        kept[cell.rule] += count.kept
        all_[cell.rule] += count.all
    return {rule: (kept[rule], all_[rule]) for rule in all_}


def holds(kept: int, all_: int, rate: float) -> bool:
    """Whether a rate is in Wilson's 95 % interval of a share; replies break a rule independently of each other here."""
    share = kept / all_
    middle, scale = share + Z * Z / (2 * all_), 1 + Z * Z / all_
    half = Z * sqrt(share * (1 - share) / all_ + Z * Z / (4 * all_ * all_))
    return middle - half <= rate * scale <= middle + half


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_the_planted_rates_lie_in_their_intervals_in_95_of_100_runs() -> None:
    of, runs = study("tutor-or-teller"), 200
    inside = Counter[str]()
    for run in range(runs):
        found = by_rule(added_up(talked(of, f"{run}:{number}") for number in range(SESSIONS)))
        assert found.pop("nobody-names-a-model")[0] == SESSIONS * TURNS
        inside.update(rule for rule, count in found.items() if holds(*count, KEPT[rule]))
    # of 200 runs at 95 %, in 999 of 1,000 cases at least 179
    assert {rule: inside[rule] >= 179 for rule in KEPT} == dict.fromkeys(KEPT, True), inside


def test_a_run_has_each_rule_at_its_turns() -> None:
    of = study("tutor-or-teller")
    found = added_up(talked(of, str(number)) for number in range(4))
    assert {(cell.rule, cell.turn) for cell in found} == {
        *((rule, turn) for rule in (*KEPT, "nobody-names-a-model") for turn in range(1, TURNS + 1))
    } - {("tutor-holds-back", 3), ("tutor-holds-back", 4)}
    assert {dict(cell.condition)["role"] for cell in found if cell.rule.startswith("tutor")} == {"tutor"}
