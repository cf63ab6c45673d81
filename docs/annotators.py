"""The page of annotators, with the fields of their answers, made from their code."""

from __future__ import annotations

from app.annotation.annotators.base import allowed, parts
from app.annotation.annotators.registry import ANNOTATORS
from docs.tables import about
from experiments.session.annotations import ConversationRef
from storage.reports.conversations import Conversation

# A conversation without a question: the options of an answer are then left out.
NONE = Conversation("", ConversationRef(), ())


def annotators() -> str:
    text = (
        "`parley annotate run STUDY --annotator NAME` asks a model about finished conversations. A field that holds an "
        "answer to the question also accepts the question's options.\n"
    )
    for name, kind in ANNOTATORS.all().items():
        whole = " It covers all conversations of a session at once." if kind.whole else ""
        fields = parts(kind().schema(NONE))
        rows = (f"- `{field}` ({allowed(part)}): {part['description']}\n" for field, part in fields.items())
        text += f"\n## {name}\n\n{about(kind)}{whole}\n\n"
        text += "".join(rows)
    return text
