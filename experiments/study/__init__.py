"""The model of a study file, and its validation."""
