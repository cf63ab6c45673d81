"""Parley under load: many participants at once, who speak the page's own protocol, beside a bare server that does as little.

`python -m tests.bench.load`. The server has one core, those who load it and the model server the other.
"""
