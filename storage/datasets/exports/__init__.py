"""A study's rows written as the released files: which rows, in which order, in which format."""
