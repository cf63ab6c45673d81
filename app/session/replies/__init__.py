"""Model replies: one task for each, retried within limits, and every attempt recorded."""
