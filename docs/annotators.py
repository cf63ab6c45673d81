"""The page of annotators: each with what it is for and the shape of its answer, as its code says it."""

from __future__ import annotations

from app.annotation.annotators.base import allowed, parts
from app.annotation.annotators.registry import ANNOTATORS
from docs.tables import about, table
from experiments.session.annotations import About
from storage.reports.conversations import Conversation

NONE = Conversation("", About(), ())
"""A conversation without a question: the options of an answer are then left out."""


def annotators() -> str:
    """Every annotator that comes with Parley."""
    text = (
        "What `parley annotate STUDY --annotator NAME` asks a model about finished conversations. Of an answer, the "
        "options of the question stand beside those that are listed.\n"
    )
    for name, kind in ANNOTATORS.all().items():
        whole = "all conversations of a session together" if kind.whole else "each conversation"
        fields = parts(kind().schema(NONE))
        rows = ((f"`{field}`", allowed(part), str(part["description"])) for field, part in fields.items())
        text += f"\n## {name}\n\n{about(kind)}\n\nIt is about {whole}.\n\n"
        text += table(("field", "value", "what it tells"), rows)
    return text
