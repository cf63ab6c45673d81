"""The kinds of step, one in a file. A new kind is a new file here, or a package's entry point `parley.steps`."""
