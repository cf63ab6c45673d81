"""What the analysis reads of a study."""
