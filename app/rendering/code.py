"""Places of code in a text: what looks like a formula or a tag in it is code."""

# A pattern for a block between fences (`fence`, `info`, `lines`) or code within a line; for multi-line mode.
CODE = (
    r"(?P<code>^[ ]{0,3}(?P<fence>```+(?!`)(?=[^`\n]*$)|~~~+(?!~))(?P<info>[^\n]*)(?:\n|\Z)"
    r"(?P<lines>[\s\S]*?)(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)[\s\S]+?(?<!`)(?P=ticks)(?!`))"
)
