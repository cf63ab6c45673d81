"""Persistence: the log of events, and the released schemas as tables and files."""
