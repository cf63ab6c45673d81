"""What models cost: what they took, and what a study would take for so many participants."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import Any, Literal

from app.annotation.judge import judge_question
from app.bots.dry_run import DryRunResult, estimate_by_simulation
from app.clock import SystemClock
from experiments.session.study_status import EVERYBODY
from experiments.session.study_status import Where as Cell
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.study_status import operations_of
from storage.reports.costs import Cost, costs, is_simulated, spending
from storage.reports.monitoring.models import used

ESTIMATED, REPLY_TOKENS = 10, 300
By = Literal["model", "condition", "participant"]


def cost_tables(database: Database, study: Study, by: By) -> dict[str, Any]:
    """What a study's models took by model, condition or participant, and its budgets."""
    rows = costs(database, study.name, by)
    with database.connect() as connection:
        bots = used(connection, study.name, Origin.BOT)
    return {
        "study": study.name,
        "currency": study.file.currency,
        "by": by,
        **_budget_of(database, study),
        "groups": {name: asdict(cost) for name, cost in rows.items()},
        "total": asdict(sum(rows.values(), Cost())),
        "simulated_users": asdict(sum((cost for name, cost in rows.items() if is_simulated(name)), Cost())),
        "simulated_sessions": {"cost": sum(one.cost for one in bots), "unknown": sum(one.unknown for one in bots)},
        "cells": [
            {"where": dict(key), **_budget_of(database, study, key)}
            for key in operations_of(database, study.name).budgets
            if key
        ],
    }


def _budget_of(database: Database, study: Study, cell: Cell = EVERYBODY) -> dict[str, Any]:
    now = operations_of(database, study.name)
    known = spending(database, study, cell, SystemClock().now_us())
    return {"budget": now.budgets.get(cell), "spent": known.spent, "reserved": known.under_way, "paused": now.paused}


def estimate_costs(study: Study, dry_run: DryRunResult, participants: int) -> dict[str, Any]:
    each = fmean(dry_run.costs)
    return {
        "calls_per_participant": dry_run.calls,
        "cost_per_participant": each,
        "most_per_participant": max(dry_run.costs),
        "participants": participants,
        "cost": participants * each,
        "currency": study.file.currency,
        "without_price": dry_run.unpriced,
    }


async def expected_costs(study: Study, participants: int) -> dict[str, Any]:
    """What the study's models would cost for so many, by a few who are simulated without a call."""
    trial = await estimate_by_simulation(study, ESTIMATED, REPLY_TOKENS, questions=judge_question)
    return estimate_costs(study, trial, participants)
