"""Kinds of simulated users, one a file: each sees what a participant sees, and says what it does there."""
