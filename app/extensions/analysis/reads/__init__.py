"""Database reads of the analysis."""
