"""What a study file says, and whether it can be."""
