"""The room of what is asked: problems, and the sources they come from.

It imports nothing of the other rooms.
"""
