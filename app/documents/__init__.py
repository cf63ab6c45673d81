"""Documents as blocks, and written as Markdown and for Word."""
