"""Names for annotators in packages with the entry points `parley.annotators`."""

from app.annotation.annotators.base import Annotator, of_object, one_of, question_of, quoted, transcript, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

__all__ = [
    "Annotator",
    "Conversation",
    "Schema",
    "Values",
    "annotator",
    "of_object",
    "one_of",
    "question_of",
    "quoted",
    "transcript",
    "yes_or_no",
]
