"""The tidy export: everything that was asked and said in a study's own sessions, as plain tables for any study."""
