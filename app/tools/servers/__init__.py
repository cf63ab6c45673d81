"""Servers of tools that come with Parley."""
