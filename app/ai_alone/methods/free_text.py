"""The question as somebody would paste it into a chat, and whatever the model replies."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.answer_extraction import extracted, extraction
from app.ai_alone.methods.base import MethodContext, SampleResult
from app.ai_alone.methods.multiple_choice import answered, key_of_letter, lettered
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem


@method("free_text")
class FreeText:
    """The question with its options and nothing else; the extractor reads the answer out of the reply.

    No attempt to answer, or an answer that is none of the options, is wrong. A reading that is no JSON object is
    unparsed and does not count. Source: ChatBench's `copy_and_paste` (paper, appendix B.1, and qa_reasoning.py): the
    message, the second call (the same temperature, no right answer shown), the keys attempted_answer, answer_val and
    answer_letter, what stands outside the outer braces dropped. The words of the extractor's prompt are ours; a
    letter may stand in brackets or before a dot.
    """

    steps, own = 2, 1

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        """The question, then what the reply answers."""
        if not texts:
            return terms.question(lettered(problem))
        return terms.extraction(extraction(terms.alone.extraction_prompt, lettered(problem), texts[0]))

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        """What the extractor read."""
        if len(texts) < self.steps:
            return None
        found = extracted(texts[1])
        if found is None:
            return SampleResult("unparsed")
        return answered(problem, key_of_letter(problem, found.letter) if found.attempted else None)
