"""Names for sources of problems in packages with the entry points `parley.problems`."""

from problems.errors import ProblemError
from problems.problem import DialogueMessage, Option, Problem
from problems.registry import source
from problems.tables import Row, Table, read_table
from problems.text import clean, read_text

__all__ = [
    "DialogueMessage",
    "Option",
    "Problem",
    "ProblemError",
    "Row",
    "Table",
    "clean",
    "read_table",
    "read_text",
    "source",
]
