"""Keep a model's reasoning with the attempt, apart from the reply."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("reasoning", sa.Text()))
