"""Each revision, in a file of its own."""
