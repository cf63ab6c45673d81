"""The question as a user would paste it into a chat, answered in free text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.ai_alone.methods.base import MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import answered, key_of_letter, lettered, slots
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem


@method("free_text")
class FreeText:
    """The question with its options and nothing else; the extractor reads the answer from the reply.

    A reply that does not attempt an answer, or answers none of the options, is wrong. If the extractor's reply is not
    a JSON object, the sample is unparsed and does not count. Source: ChatBench's `copy_and_paste` (paper, appendix
    B.1, and qa_reasoning.py): the message, the second call (at the same temperature, without the correct answer), the
    keys attempted_answer, answer_val and answer_letter, and ignoring text outside the outer braces. Both prompts are
    theirs, word for word; a letter in brackets or before a dot is accepted too.
    """

    steps, own = 2, 1
    prompts = ("free_text", "extraction")

    def ask(self, context: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        prompts = context.alone.prompts
        if not texts:
            return context.question(filled(prompts.free_text, question=lettered(problem)))
        return context.extraction(filled(prompts.extraction, reply=texts[0], **slots(problem)))

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        if len(texts) < self.steps:
            return None
        found = _json_object(texts[1])
        attempted = found.get("attempted_answer")
        if not isinstance(attempted, bool):
            return SampleResult("unparsed")
        letter = str(found.get("answer_letter")).strip(" ().").upper()
        return answered(problem, key_of_letter(problem, letter) if attempted else None)


def _json_object(text: str) -> dict[str, Any]:
    """The object from the first brace to the last, ignoring text around it; empty if it is no object."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        found = orjson.loads(text[begin : end + 1]) if 0 <= begin < end else None
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
