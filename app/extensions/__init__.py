"""The extensions of Parley, one in a folder; each can be taken away."""
