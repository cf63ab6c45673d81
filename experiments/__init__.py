"""What happens in a study: pure rules, with no input or output, no clock and no chance of their own."""
