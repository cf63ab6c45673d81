"""One participant's session: events, state, screen, timing, assignment."""
