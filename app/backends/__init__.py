"""How to reach a model: one file a backend, found by `registry`; a new backend is one new file."""
