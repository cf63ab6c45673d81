"""The rules of a study: pure, with no input or output, no clock and no chance of their own."""
