"""Use cases of researchers, for the command line and the console: a request in, a result or an error out."""
