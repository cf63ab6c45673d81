"""Measurements, apart from the tests: figures of this machine, and whether the bars of docs/benchmarks.md are kept."""
