"""Measurements, apart from the tests: figures of this machine, never a pass or a fail."""
