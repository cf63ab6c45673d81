"""Conversations in which pictures can be attached, and models that do not see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.errors import ValidationIssue
from experiments.study.sections.attachments import Attach, KindsByFactor
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.step import Step
from experiments.study.study import Study

SEES_ANYWAY = "scripted"


def attachment_faults(study: Study, step: Step, replying: Iterable[str], at: str) -> Iterator[ValidationIssue]:
    """What is wrong with a step's `attach`, where these models may reply."""
    attach: Attach | None = getattr(step, "attach", None)
    models = study.file.models
    for name in replying if attach else ():
        if isinstance(attach, KindsByFactor) and attach.by == "model" and not attach.pick.get(name):
            continue
        for blind in filter(lambda one: one in models and not _sees(models[one]), (name, *_fallbacks(study, name))):
            what = (
                f"the model {blind!r} is not sent pictures. If it sees them, write `sees: [image]` at models.{blind}; "
                "else let another model reply here, or remove `attach`"
            )
            yield ValidationIssue(f"{at}.attach", what)


def _fallbacks(study: Study, name: str) -> tuple[str, ...]:
    return study.file.models[name].fallback if name in study.file.models else ()


def _sees(model: ModelSpec) -> bool:
    return model.backend == SEES_ANYWAY or "image" in (model.sees or ())
