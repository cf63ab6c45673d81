"""Conversations annotated by models, and how far they agree with people."""
