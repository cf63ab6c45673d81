"""The cost of the judges of a study's rules, and of their calls in progress at most: one count for all processes. What
a killed process had reserved stays counted, as its calls may have been paid."""

from __future__ import annotations

from math import inf

from sqlalchemy.exc import DBAPIError

from storage import tables
from storage.db.engine import Database, writer
from storage.db.upsert import insert_into
from storage.errors import Unwritable, cause


def add_judge_cost(database: Database, study: str, rule: str, cost: float, limit: float = inf) -> bool:
    """Add to what was spent; False, and nothing is added, if that would be above the limit. Raises Unwritable."""
    new = insert_into(tables.judge_budgets, database.dialect.name).values(study=study, rule=rule, spent=cost)
    spent = tables.judge_budgets.c.spent + new.excluded.spent
    added = new.on_conflict_do_update(index_elements=["study", "rule"], set_={"spent": spent}, where=spent <= limit)
    added = added.returning(tables.judge_budgets.c.spent)
    try:
        with writer(database) as connection, connection.begin():
            return cost <= limit and connection.execute(added).first() is not None
    except DBAPIError as error:
        raise Unwritable(f"the cost of a judge could not be counted: {cause(error)}") from error
