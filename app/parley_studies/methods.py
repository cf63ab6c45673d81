"""Names for AI-alone methods in packages with the entry points `parley.methods`."""

from app.ai_alone.methods.base import Method, MethodContext, SampleResult, filled
from app.ai_alone.methods.multiple_choice import answered, key_of_letter, letter_of, lettered, read_letter
from app.ai_alone.methods.registry import method
from app.batch.task import Prompt
from problems.problem import Option, Problem

__all__ = [
    "Method",
    "MethodContext",
    "Option",
    "Problem",
    "Prompt",
    "SampleResult",
    "answered",
    "filled",
    "key_of_letter",
    "letter_of",
    "lettered",
    "method",
    "read_letter",
]
