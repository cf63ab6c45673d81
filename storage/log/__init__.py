"""The event log: its writer, projections, erasure."""
