"""The released datasets' schemas, one in a file: columns, rows from facts, and the names of the released files."""
