"""Join the sessions of a person in a study with waves; in the others, the new columns stay empty."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("session", sa.Column("person", sa.String(32)))
    op.add_column("session", sa.Column("wave", sa.String(60)))
    op.create_index("uq_session_person_wave", "session", ["person", "wave"], unique=True)
    op.drop_index("ix_seat_counts", table_name="seat", if_exists=True)  # made again with `placed`
