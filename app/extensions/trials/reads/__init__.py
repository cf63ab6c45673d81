"""Reads and records of a trial's plan."""
