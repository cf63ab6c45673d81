"""The tables of Parley 0.2.

There is nothing to do, as a new database is made whole from the tables as they are now. tests/migrations has a frozen
copy of what this revision means.
"""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: these tables are there."""
