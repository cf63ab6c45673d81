"""The tables as they were when Parley began to stamp them.

There is nothing to do: a database without a stamp that has them is stamped with this revision, and a new one is made
whole from the tables as they are now. tests/migrations has a frozen copy of what this revision means.
"""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: these tables are there."""
