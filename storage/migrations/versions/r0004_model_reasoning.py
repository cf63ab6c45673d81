"""Keep the result of a model's test about its reasoning for its server."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "model_reasoning",
        sa.Column("url", sa.Text(), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("unopened", sa.Boolean(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
    )
