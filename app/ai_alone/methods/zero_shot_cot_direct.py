"""Chain of thought, then a letter, with a direct instruction."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import read_letter, slots
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem


@method("zero_shot_cot_direct")
class ZeroShotCotDirect:
    """Like zero_shot_cot, but the second call has a direct instruction to answer with only the letter.

    The letter is read as in letter_only_zero_shot. Source: ChatBench's code (qa_reasoning.py; not in the paper): both
    prompts, word for word; the second call with 10 tokens.
    """

    steps, own = 2, 2
    prompts = ("zero_shot_cot", "zero_shot_cot_direct_letter")

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        prompts, known = terms.alone.prompts, slots(problem)
        if not texts:
            return terms.question(filled(prompts.zero_shot_cot, **known))
        text = filled(prompts.zero_shot_cot_direct_letter, reasoning=texts[0], **known)
        return terms.question(text, max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        return read_letter(problem, texts[1]) if len(texts) >= self.steps else None
