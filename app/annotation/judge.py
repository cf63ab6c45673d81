"""The question of one of a study's annotators to a judge, about a conversation that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.session.replies.judges import JudgeQuestion
from experiments.study.study import Study
from storage.reports.conversations import Conversation


def judge_question(study: Study, name: str, conversation: Conversation) -> JudgeQuestion:
    from app.annotation.annotators.custom import CustomAnnotator  # few servers have judges, and all would wait for it
    from app.annotation.annotators.json_reply import UnparsableReply
    from app.backends.model_ref import ModelRef

    spec = (study.file.annotators or {})[name]
    annotator = CustomAnnotator(name, spec)

    def read(text: str) -> Mapping[str, Any] | None:
        values = annotator.read(text, conversation)
        return None if isinstance(values, UnparsableReply) else values

    asked = annotator.question(conversation, ModelRef(spec.model, study.model(spec.model)))
    return JudgeQuestion(spec.model, asked.request, read)
