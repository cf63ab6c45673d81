"""Run by alembic: the revisions, in the transaction that storage/migrations/migrate.py has opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
