"""Errors in the sets of tools that a study names, and in the conversations that use them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from experiments.errors import ValidationIssue, suggestion
from experiments.study.cells import factor_values
from experiments.study.sections.model_spec import PickByFactor
from experiments.study.study import Study
from experiments.study.texts import fill, names


def tools_faults(study: Study) -> Iterator[ValidationIssue]:
    known = study.file.tools or {}
    used = set[str]()
    for path, step in study.steps:
        given = getattr(step, "tools", None)
        texts = tuple(given.pick.values()) if isinstance(given, PickByFactor) else (given or "",)
        sets = [name for text in texts for name in _filled(text, study)]
        used |= {*sets}
        for name in sets:
            if name and name not in known:
                what = f"no set of tools is called {name!r}{suggestion(name, known)}"
                yield ValidationIssue(f"{path}.tools", what, absent=True)
            elif name and step.side_by_side and known[name].writes:
                what = f"the tools {', '.join(known[name].writes)} of {name!r} change something, once for each column"
                yield ValidationIssue(f"{path}.tools", f"{what}; name a set without `writes`, whose tools only read")
    alone = study.file.ai_alone.tools if study.file.ai_alone else ""
    if alone and alone not in known:
        what = f"no set of tools is called {alone!r}{suggestion(alone, known)}"
        yield ValidationIssue("ai_alone.tools", what, absent=True)
    misspelt = (used | {alone}) - {"", *known}  # which may be meant for those that nothing seems to use
    for name in known if not misspelt else ():
        if name not in used | {alone}:
            yield ValidationIssue(f"tools.{name}", "no conversation has `tools: " + name + "`; remove it, or use it")


def _filled(text: str, study: Study) -> Iterator[str]:
    """What a text becomes, for all values of the factors in it."""
    factors = [name for name in names(text) if name in study.factors]
    for values in product(*(factor_values(study.factors[name], study.pools) for name in factors)):
        unknown = {name: f"{{{{{name}}}}}" for name in names(text)}
        yield fill(text, {**unknown, **dict(zip(factors, values, strict=True))}.__getitem__)
