"""Reminders of waves: their texts, the channels, and the server's task that sends them."""
