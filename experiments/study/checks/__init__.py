"""Checks of a study file: errors that keep it from running, and advice."""
