"""The model replies with one letter, without examples."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import read_letter, slots
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from experiments.study.sections.ai_alone import subject_of
from problems.problem import Problem


@method("letter_only_zero_shot")
class LetterOnlyZeroShot:
    """The question with its options, and an instruction to answer with a single letter.

    The answer is the first character of the reply if it is the letter of an option; anything else is invalid and
    counts as wrong. Source: ChatBench (paper, appendix B.1, and qa_reasoning.py): both prompts, word for word, with
    "Question: " before the question as in its code (the paper's listing omits it), temperature 0.7, 10 tokens.
    """

    steps, own = 1, 1
    prompts = ("letter_only_zero_shot",)

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        template, subject = terms.alone.prompts.letter_only_zero_shot, subject_of(terms.alone, problem.dataset)
        return terms.question(filled(template, subject=subject, **slots(problem)), max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        return read_letter(problem, texts[0]) if texts else None
