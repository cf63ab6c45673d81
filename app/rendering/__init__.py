"""Renders Markdown and formulas as HTML; the only renderer of texts."""
