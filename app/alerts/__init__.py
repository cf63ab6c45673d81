"""Alerts for researchers: what is looked at, when an alert opens and closes, and how it is sent."""
