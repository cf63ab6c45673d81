"""What people earn on top: only who completes it, each question once, never more than the rule's most, to the cent."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.loader import load_study
from experiments.events import Event
from experiments.session.engine import fold
from experiments.session.outcomes import OUTCOMES
from experiments.study.location import State
from experiments.study.resolve import resolve, restore
from experiments.study.study import Study
from experiments.views.bonus import bonus_of, earned
from problems.problem import Option, Problem
from storage.schemas.registry import rows_of
from tests.fakes.examples import examples
from tests.fakes.sessions import study as known
from tests.fakes.sessions import whole

STEPS = ("first", "second")
KEYS = ("A", "B")
POOLS = ("sums", "odd")
# The right answers of a pool's problems, by number; that of the last is not known.
RIGHT: tuple[str | None, ...] = ("A", "B", None)

# A problem that was met: its pool, its number, and the answers to its two steps; None where time ran out.
Turn = tuple[str, int, tuple[str | None, str | None]]
turns = st.lists(
    st.tuples(st.sampled_from(POOLS), st.integers(0, 2), st.tuples(*[st.sampled_from([*KEYS, None])] * 2)), max_size=8
)
amounts = st.decimals("0.01", "9.99", places=2)
rules = st.fixed_dictionaries(
    {
        "per": st.sampled_from(["correct_answer", "answer", "completion"]),
        "amount": amounts,
        "pools": st.sampled_from([[], ["sums"], ["odd"], ["odd", "sums"]]),
        "correct_if": st.sampled_from(["any", "last", "all"]),
    },
    optional={"max": amounts},
)


def study(*bonus: Any, dataset: str = "made") -> Study:
    """Two pools of three problems with the same ids, each problem asked twice."""
    options = tuple(Option(key, key, key) for key in KEYS)
    pool = [Problem(f"p{n}", "Which?", "Which?", dataset, options, answer) for n, answer in enumerate(RIGHT)]
    asked = [{"step": "answer", "id": name} for name in STEPS]
    raw = {
        "study": "paid",
        "title": "Paid",
        "problems": {name: {"source": "jsonl"} for name in POOLS},
        "bonus": list(bonus),
        "flow": [*({"each": name, "of": name, "up_to": 3, "flow": asked} for name in POOLS), {"step": "finish"}],
    }
    return resolve(raw, {}, dict.fromkeys(POOLS, pool))


def session(met: Sequence[Turn], outcome: str = "complete") -> State:
    """A session in which these problems were met; those of one pool in one loop, in this order."""
    facts: list[tuple[str, str, dict[str, Any]]] = [("", "enrolled", {"seed": "1"})]
    for pool in POOLS:
        own = [turn for turn in met if turn[0] == pool]
        facts.append((pool, "drawn", {"of": pool, "items": [{pool: f"p{number}"} for _, number, _ in own]}))
        for index, (_, _, answers) in enumerate(own):
            for step, answer in zip(STEPS, answers, strict=True):
                kind, data = ("submitted", {"answer": answer}) if answer else ("expired", {"typed": {"answer": "A"}})
                facts.append((f"{pool}[{index}]/{step}", kind, data))
    facts += [("finish", "finished", {"outcome": outcome})] if outcome else []
    return fold(Event(n, n, "participant", *fact) for n, fact in enumerate(((p, k, d) for p, k, d in facts), start=1))


def right(rule: dict[str, Any], pool: str, number: int, answers: list[str]) -> bool:
    """Whether a rule counts a question as correct, in the words of its documentation."""
    if rule["pools"] and pool not in rule["pools"]:
        return False
    if rule["per"] == "answer":
        return bool(answers)
    hits = [answer == RIGHT[number] for answer in answers]
    return bool(hits) and {"any": any(hits), "all": all(hits), "last": hits[-1]}[rule["correct_if"]]


@given(turns, st.lists(rules, max_size=3))
@examples(15)
def test_a_bonus_is_what_the_rules_say_of_the_answers_recorded(met: list[Turn], bonus: list[dict[str, Any]]) -> None:
    of, state = study(*bonus), session(met)
    given_: dict[tuple[str, int], list[str]] = {}
    for pool, number, answers in met:
        given_.setdefault((pool, number), []).extend(answer for answer in answers if answer)
    parts = earned(of, state)
    for rule, part in zip(bonus, parts, strict=True):
        count = 1 if rule["per"] == "completion" else sum(right(rule, *key, found) for key, found in given_.items())
        assert part.count == count
        assert part.amount == min(rule["amount"] * count, rule.get("max", Decimal(1000)))
    assert bonus_of(of, state) == sum(part.amount for part in parts)
    assert bonus_of(of, state).as_tuple().exponent == -2, "to the cent, whatever the amounts"


@given(turns, rules, st.sampled_from(["", *(name for name in OUTCOMES if name not in ("complete", "withdrawn"))]))
@examples(20)
def test_who_has_not_completed_it_earns_nothing(met: list[Turn], rule: dict[str, Any], outcome: str) -> None:
    state = session(met, outcome)
    assert state.outcome == outcome
    assert earned(study(rule), state) == ()
    assert bonus_of(study(rule), state) == 0


@pytest.mark.parametrize("seed", ["1", "2", "3", "4", "5"])
def test_chatbench_pays_as_its_authors_did(seed: str) -> None:
    of, state = known("chatbench"), fold(whole("chatbench", seed))
    rows = [row.values for row in rows_of(of, state).values() if row.table == "user_answers"]
    best: dict[str, int] = {}
    for row in rows:
        best[row["question_id"]] = max(best.get(row["question_id"], 0), row["acc"])
    assert len(best) == 13
    assert sum(best.values()) > 0
    assert bonus_of(of, state) == Decimal("0.10") * sum(best.values()) <= Decimal("1.30")


@pytest.mark.parametrize("written", ["0.1", "0.10", '"0.1"', "1.0e-1"])
def test_an_amount_is_exact_and_the_same_study_however_it_is_written(written: str, tmp_path: Path) -> None:
    def load(amount: str) -> Study:
        (tmp_path / "s.yaml").write_text(
            f"study: s\ntitle: S\nbonus: [{{per: completion, amount: {amount}, max: 3}}]\nflow: [{{step: finish}}]\n"
        )
        return load_study(str(tmp_path / "s.yaml"))

    of = load(written)
    (rule,) = of.file.bonus
    assert (str(rule.amount), str(rule.max)) == ("0.10", "3.00")
    assert of.hash == load("0.10").hash
    again = restore(of.document)
    assert (again.hash, again.file.bonus) == (of.hash, of.file.bonus)
