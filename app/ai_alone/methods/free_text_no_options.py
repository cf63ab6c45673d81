"""The question without its options, answered in free text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from app.ai_alone.methods.answer_extraction import Extracted, extracted
from app.ai_alone.methods.base import MethodContext, SampleResult, filled
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Problem

NUMBER = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{1,15})?|\.\d{1,15})(?:/\d{1,15})?")
VERDICT = re.compile(r"\W*(yes|no)\b", re.I)


@method("free_text_no_options")
class FreeTextNoOptions:
    """The question without its options; the answer in the reply is compared with the correct option.

    The extractor reads the answer from the reply. If that answer and the correct option are both numbers and close
    (Python's math.isclose), it is correct; otherwise the extractor is asked, yes or no, whether they are the same.
    Source: ChatBench's `copy_and_paste_no_mc` (qa_reasoning.py; not in the paper): the message, the comparison and the
    check. All prompts are theirs, word for word.
    """

    steps, own = 3, 1
    prompts = ("free_text", "extraction_no_options", "check")

    def ask(self, terms: MethodContext, problem: Problem, texts: Sequence[str]) -> Prompt:
        prompts, question = terms.alone.prompts, problem.plain
        if not texts:
            return terms.question(filled(prompts.free_text, question=question))
        if len(texts) == 1:
            return terms.extraction(filled(prompts.extraction_no_options, question=question, reply=texts[0]))
        found = extracted(texts[1])
        given = found.value if found else ""
        return terms.extraction(filled(prompts.check, question=question, right=right_of(problem), given=given))

    def read(self, problem: Problem, texts: Sequence[str]) -> SampleResult | None:
        """Correct if the numbers are close, or if the extractor says that the answers are the same."""
        if len(texts) < 2:
            return None
        found = extracted(texts[1])
        if found is None or not found.attempted or not found.value:
            return SampleResult("unparsed") if found is None else SampleResult("answered", None, False)
        if close(found.value, right_of(problem)):
            return SampleResult("answered", found.value, True)
        return self._checked(found, texts[2]) if len(texts) >= self.steps else None

    def _checked(self, found: Extracted, text: str) -> SampleResult:
        verdict = VERDICT.match(text)
        if verdict is None:
            return SampleResult("unparsed", found.value)
        return SampleResult("answered", found.value, verdict[1].lower() == "yes")


def right_of(problem: Problem) -> str:
    return next((option.plain for option in problem.options if option.key == problem.answer), problem.answer or "")


def close(given: str, right: str) -> bool:
    one, other = number(given), number(right)
    return one is not None and other is not None and math.isclose(one, other)


def number(text: str) -> float | None:
    """Parse a number, which may have a dollar sign, commas between thousands, or be a fraction; None if it is none."""
    bare = text.strip().removeprefix("$").replace(",", "").replace("−", "-").strip()
    if not NUMBER.fullmatch(bare):
        return None
    above, _, below = bare.partition("/")
    divisor = Fraction(below or 1)
    return float(Fraction(above) / divisor) if divisor else None
