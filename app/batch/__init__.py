"""The batch engine: makes the model calls whose replies are not stored yet, within rate limits and a budget.

It takes cells and knows nothing of what they mean. `runner.run` is the way in.
"""
