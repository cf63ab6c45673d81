"""Ways to ask a model a question alone, one a file; `registry` knows them all."""
