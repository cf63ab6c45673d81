"""Models alone: replies, the runs that asked for them, and the cells that they are replies to."""
