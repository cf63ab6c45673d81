"""Backends: ways to reach a model, one file each, found by `registry`; a new backend is one new file."""
