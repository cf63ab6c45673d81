"""What happens to one person: events, state, screen, timing, assignment."""
