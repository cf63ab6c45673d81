"""Count what judges cost once for all processes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "judge_budget",
        sa.Column("study", sa.String(60), primary_key=True),
        sa.Column("rule", sa.String(60), primary_key=True),
        sa.Column("spent", sa.Float(), nullable=False),
    )
