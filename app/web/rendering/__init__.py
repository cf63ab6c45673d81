"""Markdown and formulas as HTML, the one renderer of all texts."""
