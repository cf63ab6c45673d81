"""Annotators: questions to a model about finished conversations, one kind per file; a study can define its own."""
