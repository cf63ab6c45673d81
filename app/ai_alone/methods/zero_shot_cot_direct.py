"""Chain of thought, then a letter, in two separate prompts."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult
from app.ai_alone.methods.multiple_choice import lettered, letters, read_letter
from app.ai_alone.methods.registry import method
from app.ai_alone.methods.zero_shot_cot import THINK
from app.batch.task import Prompt
from problems.problem import Problem


@method("zero_shot_cot_direct")
class ZeroShotCotDirect:
    """Like zero_shot_cot, but the second call is one new message with the question, the reasoning and the instruction.

    The letter is read as in letter_only_zero_shot. Source: ChatBench's code (qa_reasoning.py; not in the paper) has a
    method of this name with two calls, the second with 10 tokens; we do not know how it differs from zero_shot_cot
    there. Ours follows Kojima et al. (2022), where the model continues one text.
    """

    steps, own = 2, 2

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        """The question, then the letter."""
        asked = f"Question: {lettered(problem)}\n\n{THINK}"
        if not texts:
            return terms.question(asked)
        then = f"Therefore, among {letters(problem)}, the answer (a single letter) is:\nAnswer:"
        return terms.question(f"{asked}\n{texts[0]}\n\n{then}", max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        """The letter."""
        return read_letter(problem, texts[1]) if len(texts) >= self.steps else None
