"""Reminders of waves: what they say, the ways by which they go out, and the task of the server that sends them."""
