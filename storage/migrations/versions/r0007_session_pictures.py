"""Store the pictures that participants attach to their messages."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "session_picture",
        sa.Column("stream", sa.String(36), primary_key=True),
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
    )
    op.create_index("ix_session_picture_sha256", "session_picture", ["sha256"])
