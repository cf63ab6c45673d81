"""Studies, participants, sessions and their status."""
