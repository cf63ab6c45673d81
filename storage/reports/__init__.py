"""Read models of the log: costs, times, conversations."""
