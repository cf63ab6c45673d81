"""What a trial reads and records of its plan."""
