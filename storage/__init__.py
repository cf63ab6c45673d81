"""What is remembered: the log of facts, and the released schemas as tables and files."""
