"""Parley under load: many participants at once, with the page's own protocol, beside a bare server of the same flow.

`python -m tests.bench.load`. The server has one core, those who load it and the model server the other.
"""
