"""A revision of the tests' own: a table that refers to sessions and goes with them, and a new column of facts."""

import sqlalchemy as sa
from alembic import op

from storage.migrations.migrate import OWN

revision = "9001"
down_revision = OWN.names[-1]


def upgrade() -> None:
    op.create_table(
        "remark",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("stream", sa.String(36), nullable=False),
        sa.Column("text", sa.Text, nullable=False, server_default=""),
        sa.ForeignKeyConstraint(["stream"], ["session.stream"], name="fk_remark_session", ondelete="CASCADE"),
    )
    op.execute("INSERT INTO remark (stream, text) SELECT stream, 'about ' || study FROM session")
    with op.batch_alter_table("event") as event:
        event.add_column(sa.Column("release", sa.String(16), nullable=False, server_default="0.1"))
