"""The model replies with one letter, without examples or after five."""

from __future__ import annotations

from collections.abc import Sequence

from app.ai_alone.methods.base import LETTER_TOKENS, MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import letter_of, lettered, read_letter, slots
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from experiments.study.sections.ai_alone import subject_of
from problems.problem import Problem

SHOTS = 5


@method("letter_only_zero_shot")
class LetterOnlyZeroShot:
    """The question with its options, and an instruction to answer with a single letter.

    The answer is the first character of the reply if it is the letter of an option; anything else is invalid and
    counts as wrong. Source: ChatBench (paper, appendix B.1, and qa_reasoning.py): both prompts, word for word, with
    "Question: " before the question as in its code (the paper's listing omits it), temperature 0.7, 10 tokens.
    """

    steps, own = 1, 1
    prompts: tuple[str, ...] = ("letter_only_zero_shot",)

    def ask(self, context: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        template, subject = context.alone.prompts.letter_only_zero_shot, subject_of(context.alone, problem.dataset)
        return context.question(filled(template, subject=subject, **slots(problem)), max_tokens=LETTER_TOKENS)

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        return read_letter(problem, texts[0]) if texts else None


@method("letter_only_few_shot")
class LetterOnlyFewShot(LetterOnlyZeroShot):
    """Like letter_only_zero_shot, with five solved examples from the same dataset before the question.

    The examples are the first five of the dataset in the pool that the study names in `ai_alone.examples`. Source:
    ChatBench (paper, appendix B.1, and qa_reasoning.py): as for letter_only_zero_shot, with HELM's line that names the
    subject and five questions of MMLU's development set before the question.
    """

    prompts = ("letter_only_few_shot",)

    def ask(self, context: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        shown = context.shown(problem.dataset, SHOTS)
        text = filled(
            context.alone.prompts.letter_only_few_shot,
            examples="\n\n".join(f"Question: {lettered(one)}\nAnswer: {letter_of(one)}" for one in shown),
            subject=subject_of(context.alone, problem.dataset),
            **slots(problem),
        )
        return context.question(text, max_tokens=LETTER_TOKENS)
