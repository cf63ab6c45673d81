"""Chain of thought, then a letter."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import read_letter, slots
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem


@method("zero_shot_cot")
class ZeroShotCot:
    """The question with its options and "Let's think step by step."; then the same with the reasoning, for a letter.

    The letter is read as in letter_only_zero_shot. Source: ChatBench's code (qa_reasoning.py; not in the paper), after
    Kojima et al. (2022), "Large Language Models are Zero-Shot Reasoners": both prompts, word for word; the second call
    with 10 tokens. Its system prompt there is the extractor's.
    """

    steps, own = 2, 2
    prompts = ("zero_shot_cot", "zero_shot_cot_letter")

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        prompts, known = terms.alone.prompts, slots(problem)
        if not texts:
            return terms.question(filled(prompts.zero_shot_cot, **known))
        text = filled(prompts.zero_shot_cot_letter, reasoning=texts[0], **known)
        return terms.question(text, max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        return read_letter(problem, texts[1]) if len(texts) >= self.steps else None
