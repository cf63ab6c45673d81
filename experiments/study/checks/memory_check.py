"""Errors in a study's `memory`: nothing to remember, kinds that some condition lacks, a model that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue, unknown
from experiments.study.cells import factor_values
from experiments.study.sections.memory import MADE, MemoryByFactor
from experiments.study.sections.model_spec import pick_faults
from experiments.study.study import Study


def memory_faults(study: Study) -> Iterator[ValidationIssue]:
    spec, confirms = study.file.memory, any(step.step == "facts" for _, step in study.steps)
    if confirms != (spec is not None and "facts" in spec.kinds):
        words = "the step `facts` goes with the kind `facts`: participants confirm there what models remember"
        yield ValidationIssue("memory", words)
    if spec is None:
        return
    models, first = study.file.models, f"{study.waves[0].id}/" if study.waves else ""
    later = [step for path, step in study.steps if step.remembers and not path.startswith(first)]
    if not any(step.asks_models(tuple(models)) for step in later):
        words = "needs `waves`, and after the first a step in which a model replies, such as `chat`"
        yield ValidationIssue("memory", words, absent=True)
    if isinstance(spec.kind, MemoryByFactor):
        own = {name: factor for wave in study.waves for name, factor in wave.factors.items()}
        levels = {name: factor_values(one, study.pools) for name, one in {**study.factors, **own}.items()}
        yield from (ValidationIssue("memory.kind", words) for words in pick_faults(spec.kind, levels))
    if (made := sorted(spec.kinds & MADE)) and spec.model not in models:
        words = f"{made[0]} needs a model of the study: {unknown('model', spec.model, models)}"
        yield ValidationIssue("memory.model", words)
