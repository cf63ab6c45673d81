"""Methods of asking a model a question without a participant, one per file; `registry` lists them."""
