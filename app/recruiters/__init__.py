"""Recruiters with an API, one file each."""
