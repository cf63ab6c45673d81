"""The replies of models alone (`ai_reply`) become attempts: one table has every call of a model.

Of each call only the last attempt was kept: its `number` is how often it was made, and its cost that of all.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
# Whose rows are in which table afterwards.
merged = {"ai_reply": "attempt"}

NEW: dict[str, sa.types.TypeEngine[Any]] = {
    "cell": sa.String(64),
    "sample": sa.Integer(),
    "step": sa.Integer(),
    "sent": sa.Text(),
    "raw": sa.Text(),
}
ALIKE = (
    *("started_us", "model", "backend", "server", "finish_reason", "version", "prompt_tokens", "completion_tokens"),
    *("total_us", "cost", "reason", "cause", "cell", "sample", "step", "raw"),
)
OF_SESSION, OF_SAMPLE = sa.text("cell IS NULL"), sa.text("cell IS NOT NULL")
BROUGHT = sa.text("cell IS NOT NULL AND (reason IS NULL OR reason IN ('refusal', 'content_filter'))")
INDEXES = (
    ("ix_attempt_study_cost", ("study", "stream", "model", "cost", "reason"), OF_SESSION),
    ("ix_attempt_recent", ("study", "started_us", "model", "first_token_us", "total_us", "reason"), OF_SESSION),
    ("ix_attempt_cell", ("cell", "sample", "step", "reason"), OF_SAMPLE),
    ("uq_attempt_reply", ("cell", "sample", "step"), BROUGHT),
)


def upgrade() -> None:
    for name, kind in NEW.items():
        op.add_column("attempt", sa.Column(name, kind))
    if "ai_reply" in sa.inspect(op.get_bind()).get_table_names():  # the very first databases had none
        _move()
        op.drop_table("ai_reply")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION IF EXISTS ai_reply_is_kept()")
    for name, columns, where in INDEXES:
        op.drop_index(name, table_name="attempt", if_exists=True)
        unique = name.startswith("uq")
        op.create_index(name, "attempt", columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _move() -> None:
    own = sa.table("ai_reply", *map(sa.column, (*ALIKE, "run", "tries", "text", "request"))).c
    fact = sa.table("event", sa.column("stream"), sa.column("kind"), sa.column("data", sa.JSON)).c
    began = sa.select(fact.data["study"].as_string()).where(fact.stream == own.run, fact.kind == "began")
    order = (own.started_us, own.cell, own.sample, own.step)
    values = {
        **{name: own[name] for name in ALIKE},
        "stream": own.run,
        "turn": sa.func.row_number().over(partition_by=own.run, order_by=order),
        "slot": sa.literal(""),
        "number": own.tries,
        "study": sa.func.coalesce(began.scalar_subquery(), ""),
        "path": sa.literal(""),
        "request": sa.literal({}, sa.JSON),
        "text": sa.func.coalesce(own.text, ""),
        "sent": own.request,
    }
    attempt = sa.table("attempt", *map(sa.column, values))
    op.execute(sa.insert(attempt).from_select([*values], sa.select(*values.values())))
