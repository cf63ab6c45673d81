"""Documents as blocks, and written as Markdown."""
