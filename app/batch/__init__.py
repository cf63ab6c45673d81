"""The engine: asks models what is not stored yet, durably, at the pace that their servers allow, within a budget.

It takes cells and knows nothing of what they mean. `running.run` is the way in.
"""
