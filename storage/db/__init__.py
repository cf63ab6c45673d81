"""The database: engine, tables, migrations, locks, backup."""
