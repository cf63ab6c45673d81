"""Parley beside oTree under the same load: the same flow, over each one's own protocol.

`python -m tests.bench.rival`. oTree is installed into an environment of its own.
"""
