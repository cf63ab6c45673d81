"""The released schemas, one dataset in a file: columns, rows from facts, and the names of the released files."""
