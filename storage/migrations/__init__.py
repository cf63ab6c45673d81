"""The revisions of the tables, one after another, in alembic's words: `versions/rNNNN_name.py`.

storage/migrations/migrate.py has alembic run them, by env.py.

A revision changes what cannot be made anew: the log and what stands beside it. Released tables, seats and usage follow
from the log and are rebuilt. It imports nothing of Parley, which goes on changing; a column that is added may be null
or has a server's default; in SQLite a table is altered by `op.batch_alter_table`, and what it is called stays.
"""
