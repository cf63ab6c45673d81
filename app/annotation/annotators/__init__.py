"""Annotators: what a model is asked about a finished conversation, one kind a file; a study may have its own."""
