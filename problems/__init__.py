"""Problems, and the sources that they come from.

It imports nothing of the other rooms.
"""
