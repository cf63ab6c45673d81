"""Costs of models: those so far, and an estimate for a number of participants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any, Literal

from app.annotation.judge import judge_question
from app.bots.dry_run import DryRunResult, estimate_by_simulation
from app.clock import SystemClock
from app.use_cases.tables import Told, money
from experiments.plural import count
from experiments.session.study_status import EVERYBODY
from experiments.session.study_status import Where as Cell
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.study_status import operations_of
from storage.reports.costs import Cost, costs, costs_by_kind, spending

ESTIMATED, REPLY_TOKENS = 10, 300
By = Literal["model", "condition", "participant"]


def told_costs(database: Database, study: Study, by: By) -> Told:
    """The costs by purpose, the total below its parts; of sessions by model, condition or participant; and budgets."""
    kinds = costs_by_kind(database, study.name)
    data = {
        "study": study.name,
        "currency": study.file.currency,
        "by": by,
        **_budget_of(database, study),
        "kinds": {name: asdict(cost) for name, cost in kinds.items()},
        "total": asdict(sum(kinds.values(), Cost())),
        "groups": {name: asdict(cost) for name, cost in costs(database, study.name, by).items()},
        "cells": [
            {"where": dict(key), **_budget_of(database, study, key)}
            for key in operations_of(database, study.name).budgets
            if key
        ],
    }
    total, currency = data["total"], data["currency"]
    budget = "There is no budget." if data["budget"] is None else f"The budget is {money(data['budget'], currency)}."
    spent = f"Participants cost {money(data['spent'], currency)} so far"
    says = [f"In all {money(total['cost'], currency)}. {budget} {spent}"]
    says[0] += f", and those under way may cost {money(data['reserved'], currency)} more." if data["reserved"] else "."
    if data["paused"] is not None:
        says.append(f"The study is paused: {data['paused'] or 'no reason is given'}.")
    if total["unknown"]:
        says.append(f"Of {count(total['unknown'], 'reply', 'replies')} the cost is not known, so it is more.")
    made_of = {**data["kinds"], "total": total} if data["kinds"] else {}
    rows = {"what for": made_of, f"sessions, by {data['by']}": data["groups"], "cells with a budget": data["cells"]}
    return Told(says, rows, data)


def _budget_of(database: Database, study: Study, cell: Cell = EVERYBODY) -> dict[str, Any]:
    now = operations_of(database, study.name)
    known = spending(database, study, cell, SystemClock().now_us())
    return {"budget": now.budgets.get(cell), "spent": known.spent, "reserved": known.under_way, "paused": now.paused}


async def tried(study: Study) -> DryRunResult:
    """Simulate a few sessions without a call, to estimate the study's costs."""
    return await estimate_by_simulation(study, ESTIMATED, REPLY_TOKENS, questions=judge_question)


def told_estimate(study: Study, dry_run: DryRunResult, participants: int) -> Told:
    each, most, currency = fmean(dry_run.costs), max(dry_run.costs), study.file.currency
    calls = ", ".join(f"{name} {calls:.1f}" for name, calls in dry_run.calls.items()) or "none"
    costs = f"{money(each, currency)} a participant (at most {money(most, currency)})"
    says = [f"About {money(participants * each, currency)} for {count(participants, 'participant')}: {costs}."]
    says.append(f"Calls of each model for a participant: {calls}.")
    data = {
        "calls_per_participant": dry_run.calls,
        "cost_per_participant": each,
        "most_per_participant": most,
        "participants": participants,
        "cost": participants * each,
        "currency": currency,
        "without_price": dry_run.unpriced,
    }
    return Told(says + unpriced(dry_run.unpriced), data=data)


def unpriced(models: Sequence[str]) -> list[str]:
    return [f"Without a `price`, so at no cost here: {', '.join(models)}."] if models else []
