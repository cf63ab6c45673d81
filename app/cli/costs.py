"""The commands that say what a study costs, and bound it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from app.cli.common import StudyName, Where, app, name_of, out, settings_in_use
from app.cli.recruitment import cell_of
from app.clock import WorldClock
from experiments.session.study_status import EVERYBODY
from experiments.session.study_status import Where as Cell
from experiments.study.resolve import Study
from storage.db.engine import Database, open_database
from storage.log.seats import cell_key
from storage.registers.studies import Studies
from storage.registers.study_status import decide_on, operations_of
from storage.reports.costs import Cost, costs, speaks, spending


class Grouping(StrEnum):
    """What costs are added up by."""

    model = "model"
    condition = "condition"
    participant = "participant"


@app.command(name="costs")
def costs_(
    study: StudyName,
    by: Annotated[Grouping, typer.Option(help="What is added up.")] = Grouping.model,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what a study's models have cost: by model, condition or participant; and what its budget still bears."""
    database = open_database(settings_in_use().database_url)
    found = Studies(database).newest(name_of(study))
    told = costs(database, found.name, by.value)
    total = sum(told.values(), Cost())
    spoken = sum((cost for name, cost in told.items() if speaks(name)), Cost())
    bounds = _bounds(database, found)
    if as_json:
        groups = {name: asdict(cost) for name, cost in told.items()}
        whole = {"study": found.name, "currency": found.file.currency, "by": by.value, "groups": groups}
        sums = {"total": asdict(total), "simulated_users": asdict(spoken)}
        print(json.dumps({**whole, **sums, **bounds}, indent=2, ensure_ascii=False))
        return
    table = Table(by.value, *(name for name in ("attempts", "failed", "tokens read", "tokens written", "cost")))
    for name, cost in (*told.items(), ("[bold]all[/bold]", total)):
        numbers = (cost.attempts, cost.failed, cost.prompt_tokens, cost.completion_tokens)
        label = name if cost is total else escape(name)
        table.add_row(label, *(f"{number:,}" for number in numbers), _money(cost, found.file.currency))
    out.print(table)
    if spoken.attempts:
        paid = _money(spoken, found.file.currency)
        out.print(f"Of that {paid} went to what speaks for simulated users, which no budget bounds.", highlight=False)
    if total.unknown:
        out.print(f"[yellow]{total.unknown:,} replies have no known cost[/yellow]: no `price`, or no count of tokens.")
    _tell(found, bounds)


@app.command()
def budget(
    study: StudyName,
    amount: Annotated[float | None, typer.Argument(metavar="[AMOUNT]", help="For all replies together.", min=0)] = None,
    where: Where = None,
    none: Annotated[bool, typer.Option("--unlimited", help="Lift the budget.")] = False,
) -> None:
    """Set what a study's models may cost, altogether or in a cell, or show it.

    Who has begun can finish; once it is spent or promised nobody new begins there.
    """
    database = open_database(settings_in_use().database_url)
    found = Studies(database).newest(name_of(study))
    cell = cell_of(found, where)
    if amount is not None or none:
        data = {"amount": amount, "where": cell}
        decide_on(database, found.name, "budgeted", data, by="researcher", at_us=WorldClock().now_us())
    _tell(found, _bounds(database, found))
    for other in operations_of(database, found.name).budgets:
        if other:
            told = _bounds(database, found, other)
            left = max(0.0, told["budget"] - told["spent"] - told["promised"])
            out.print(f"  {escape(cell_key(dict(other)))}: {told['budget']:,.2f}, left {left:,.2f}", highlight=False)


def _bounds(database: Database, study: Study, where: Cell = EVERYBODY) -> dict[str, Any]:
    """The budget, what is spent of it and what is promised to those in the midst of the study."""
    now = operations_of(database, study.name)
    known = spending(database, study, where, WorldClock().now_us())
    return {"budget": now.budgets.get(where), "spent": known.spent, "promised": known.under_way, "paused": now.paused}


def _money(cost: Cost, currency: str) -> str:
    """What is known of it: with some of it unknown it is more."""
    if not cost.unknown:
        return f"{cost.cost:,.4f} {currency}"
    return f"over {cost.cost:,.4f} {currency}" if cost.cost else "unknown"


def _tell(study: Study, bounds: Mapping[str, Any]) -> None:
    currency = escape(study.file.currency)
    if bounds["paused"]:
        out.print(f"[yellow]Paused ({escape(bounds['paused'])}): nobody new can begin.[/yellow]")
    if bounds["budget"] is None:
        out.print(f"No budget is set: parley budget {study.name} AMOUNT", highlight=False)
        return
    left = bounds["budget"] - bounds["spent"] - bounds["promised"]
    out.print(
        f"Budget: {bounds['budget']:,.2f} {currency}; spent {bounds['spent']:,.2f}, promised to those in the midst of "
        f"the study {bounds['promised']:,.2f}, left {max(0.0, left):,.2f}.",
        highlight=False,
    )
    if left <= 0:
        out.print("[yellow]Nobody new can begin until it is raised. Those who have begun go on.[/yellow]")
