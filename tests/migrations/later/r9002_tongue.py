"""A revision of the tests' own that makes what is referred to anew: where foreign keys are on, all remarks are gone."""

import sqlalchemy as sa
from alembic import op

revision = "9002"
down_revision = "9001"


def upgrade() -> None:
    with op.batch_alter_table("session", recreate="auto") as session:
        session.alter_column("study", existing_type=sa.String(60), type_=sa.String(80))
        session.add_column(sa.Column("tongue", sa.String(16)))
    with op.batch_alter_table("event") as event:
        event.alter_column("by", existing_type=sa.String(16), type_=sa.String(24))
    with op.batch_alter_table("erasure") as erasure:
        erasure.alter_column("reason", existing_type=sa.Text, nullable=True)
