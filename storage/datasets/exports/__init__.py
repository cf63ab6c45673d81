"""Exports: select a study's rows, order them, and write them as released files."""
