"""Errors for texts that participants need and that are blank: they see an empty heading, button or option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.errors import ValidationIssue
from experiments.study.base_model import StrictModel
from experiments.study.fields import ChoiceField
from experiments.study.schema import Loop, Node, Phase
from experiments.study.study import Study

BLANK = "is blank, and participants need to read it; write a text"


def blank_faults(study: Study) -> Iterator[ValidationIssue]:
    """The title, the headings of phases, and the texts and options of steps that are blank."""
    if not study.file.title.strip():
        yield ValidationIssue("title", BLANK)
    yield from _nodes(study.flow, "flow")


def _nodes(nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    for number, node in enumerate(nodes):
        at = f"{where}[{number}]"
        if isinstance(node, Phase | Loop):
            if isinstance(node, Phase) and not node.phase.strip():
                yield ValidationIssue(f"{at}.phase", BLANK)
            yield from _nodes(node.flow, f"{at}.flow")
        else:
            yield from _texts(node, at)
            for field in node.questions_asked():
                for value, label in field.options.items() if isinstance(field, ChoiceField) else ():
                    if not label.strip():
                        yield ValidationIssue(at, f"{field.name!r}: the label of the option {value!r} {BLANK}")


def _texts(part: StrictModel, at: str) -> Iterator[ValidationIssue]:
    """The texts of a step that are blank: required ones, labels of buttons and speakers. Others are then left out."""
    for name, info in type(part).model_fields.items():
        value, needed = getattr(part, name), info.is_required() or name == "button" or name.endswith("_label")
        if isinstance(value, StrictModel):
            yield from _texts(value, f"{at}.{name}")
        elif needed and isinstance(value, str) and not value.strip():
            yield ValidationIssue(f"{at}.{name}", BLANK)
