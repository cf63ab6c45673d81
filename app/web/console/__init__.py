"""The researchers' console: a page in a process of its own, over the same database, behind a login."""
