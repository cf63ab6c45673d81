"""Names for kinds of steps in packages with the entry points `parley.steps`."""

from experiments.errors import Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.study.fields import (
    Checkbox,
    Field,
    Invalid,
    LongText,
    MultipleChoiceField,
    Number,
    Scale,
    ShortText,
    SingleChoice,
    Slider,
)
from experiments.study.location import Location
from experiments.study.screen import Block, CodeBlock, NoticeBlock, Panel, ProblemBlock, TextBlock, TranscriptBlock
from experiments.study.step import RatingSubject, Step, TimeLimit, read_or_refuse, step
from experiments.study.texts import lazy
from problems.problem import DialogueMessage, Option, Problem

__all__ = [
    "Action",
    "Block",
    "Checkbox",
    "CodeBlock",
    "Data",
    "DialogueMessage",
    "Event",
    "Fact",
    "Field",
    "Invalid",
    "Location",
    "LongText",
    "MultipleChoiceField",
    "NoticeBlock",
    "Number",
    "Option",
    "Panel",
    "PendingTask",
    "Problem",
    "ProblemBlock",
    "RatingSubject",
    "Refused",
    "Scale",
    "ShortText",
    "SingleChoice",
    "Slider",
    "Step",
    "TextBlock",
    "TimeLimit",
    "TranscriptBlock",
    "lazy",
    "read_or_refuse",
    "step",
]
