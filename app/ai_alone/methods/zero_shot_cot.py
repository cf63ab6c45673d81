"""Chain of thought, then a letter, in one conversation."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult
from app.ai_alone.methods.multiple_choice import lettered, letters, read_letter
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem

THINK = "Let's think step by step."


@method("zero_shot_cot")
class ZeroShotCot:
    """The question with its options and "Let's think step by step."; then a request for a letter in the same chat.

    The letter is read as in letter_only_zero_shot. Source: ChatBench's code (qa_reasoning.py; not in the paper): two
    calls, the second with 10 tokens. The prompts are those of Kojima et al. (2022), "Large Language Models are
    Zero-Shot Reasoners"; the instruction to reply with a letter is ours.
    """

    steps, own = 2, 2

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        """The question, then the letter."""
        asked = f"Question: {lettered(problem)}\n\n{THINK}"
        if not texts:
            return terms.question(asked)
        then = f"Therefore, among {letters(problem)}, the answer is which one? Reply with a single letter.\nAnswer:"
        return terms.question(asked, texts[0], then, max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        """The letter."""
        return read_letter(problem, texts[1]) if len(texts) >= self.steps else None
