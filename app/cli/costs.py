"""The commands for a study's costs and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import AsJson, StudyName, Where, existing_database, name_of, out, print_json, settings_in_use
from app.cli.recruitment import cell_of
from app.clock import SystemClock
from experiments.session.study_status import EVERYBODY
from experiments.session.study_status import Where as Cell
from experiments.study.study import Study
from storage.db.engine import Database
from storage.log.seats import cell_key
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of, set_status
from storage.reports.costs import Cost, costs, is_simulated, spending
from storage.reports.monitoring.models import used


class Grouping(StrEnum):
    """What costs are grouped by."""

    model = "model"
    condition = "condition"
    participant = "participant"


@command("costs")
def costs_(
    study: StudyName,
    by: Annotated[Grouping, typer.Option(help="Group by model, condition or participant.")] = Grouping.model,
    as_json: AsJson = False,
) -> None:
    """Costs are grouped by model, by condition or by participant."""
    database = existing_database(settings_in_use())
    found = Studies(database).newest(name_of(study))
    rows = costs(database, found.name, by.value)
    total = sum(rows.values(), Cost())
    spoken = sum((cost for name, cost in rows.items() if is_simulated(name)), Cost())
    bounds = _bounds(database, found)
    if as_json:
        groups = {name: asdict(cost) for name, cost in rows.items()}
        whole = {"study": found.name, "currency": found.file.currency, "by": by.value, "groups": groups}
        sums = {"total": asdict(total), "simulated_users": asdict(spoken)}
        print_json({**whole, **sums, **bounds})
        return
    table = Table(by.value, *(name for name in ("attempts", "failed", "prompt tokens", "completion tokens", "cost")))
    for name, cost in (*rows.items(), ("[bold]all[/bold]", total)):
        numbers = (cost.attempts, cost.failed, cost.prompt_tokens, cost.completion_tokens)
        label = name if cost is total else escape(name)
        table.add_row(label, *(f"{number:,}" for number in numbers), _money(cost, found.file.currency))
    out.print(table)
    with database.connect() as connection:
        simulated = used(connection, found.name, Origin.BOT)
    if simulated:
        cost = Cost(cost=sum(one.cost for one in simulated), unknown=sum(one.unknown for one in simulated))
        paid = _money(cost, found.file.currency)
        out.print(f"Of that, {paid} is for simulated sessions, which count against no budget.", highlight=False)
    if total.unknown:
        out.print(f"[yellow]{total.unknown:,} replies have no known cost[/yellow]: no `price`, or no token count.")
    _print_budget(found, bounds)


@command("budget")
def budget(
    study: StudyName,
    amount: Annotated[float | None, typer.Argument(metavar="AMOUNT", help="The new budget.", min=0)] = None,
    where: Where = None,
    unlimited: Annotated[bool, typer.Option("--unlimited", help="Remove the budget.")] = False,
    as_json: AsJson = False,
) -> None:
    """When it is spent or reserved for running sessions, no new session can start. Running sessions continue."""
    database = existing_database(settings_in_use())
    found = Studies(database).newest(name_of(study))
    cell = cell_of(found, where)
    if amount is not None or unlimited:
        data = {"amount": amount, "where": cell}
        set_status(database, found.name, "budgeted", data, by="researcher", at_us=SystemClock().now_us())
    whole = _bounds(database, found)
    parts = {key: _bounds(database, found, key) for key in operations_of(database, found.name).budgets if key}
    if as_json:
        cells = [{"where": dict(key), **bounds} for key, bounds in parts.items()]
        print_json({"study": found.name, "currency": found.file.currency, **whole, "cells": cells})
        return
    _print_budget(found, whole)
    for key, bounds in parts.items():
        left = max(0.0, bounds["budget"] - bounds["spent"] - bounds["reserved"])
        out.print(f"  {escape(cell_key(dict(key)))}: {bounds['budget']:,.2f}, left {left:,.2f}", highlight=False)


def _bounds(database: Database, study: Study, where: Cell = EVERYBODY) -> dict[str, Any]:
    """The budget, the part spent, and the part reserved for running sessions."""
    now = operations_of(database, study.name)
    known = spending(database, study, where, SystemClock().now_us())
    return {"budget": now.budgets.get(where), "spent": known.spent, "reserved": known.under_way, "paused": now.paused}


def _money(cost: Cost, currency: str) -> str:
    """A cost as text; a sum with unknown parts is a lower bound."""
    if not cost.unknown:
        return f"{cost.cost:,.4f} {currency}"
    return f"over {cost.cost:,.4f} {currency}" if cost.cost else "unknown"


def _print_budget(study: Study, bounds: Mapping[str, Any]) -> None:
    currency = escape(study.file.currency)
    if bounds["paused"]:
        out.print(f"[yellow]Paused ({escape(bounds['paused'])}): no new session can start.[/yellow]")
    if bounds["budget"] is None:
        out.print(f"No budget is set: parley budget {study.name} AMOUNT", highlight=False)
        return
    left = bounds["budget"] - bounds["spent"] - bounds["reserved"]
    out.print(
        f"Budget: {bounds['budget']:,.2f} {currency}; spent {bounds['spent']:,.2f}, reserved for running sessions "
        f"{bounds['reserved']:,.2f}, left {max(0.0, left):,.2f}.",
        highlight=False,
    )
    if left <= 0:
        out.print("[yellow]No new session can start until the budget is raised. Running sessions continue.[/yellow]")
