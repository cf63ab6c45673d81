"""The engine: a study is data, a session is a list of facts, and these functions interpret the two."""
