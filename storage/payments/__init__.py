"""Payees, and files of payments."""
