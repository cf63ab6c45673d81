"""The planned results of a trial, for notebooks."""

from app.extensions.trials.results import trial_findings

__all__ = ["trial_findings"]
