"""Imports: find released files, validate every cell, and record the rows in the log."""
