"""The sections of a study file that stand for themselves: models, recruitment, AI-alone runs, annotators, metadata."""
