"""Calls of models, for live chats and for batches: one rate limiter, retry policy, circuit breaker and budget."""
