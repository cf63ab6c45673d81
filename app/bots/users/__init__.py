"""Kinds of simulated users, one a file: each reads a participant's screen and returns an action."""
