"""The researchers' console: a page in a process of its own, behind a login."""
