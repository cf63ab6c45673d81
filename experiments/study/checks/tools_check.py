"""Errors in the sets of tools that a study names, and in the conversations that use them."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue, suggestion
from experiments.study.sections.model_spec import PickByFactor
from experiments.study.study import Study


def tools_faults(study: Study) -> Iterator[ValidationIssue]:
    known = study.file.tools or {}
    used = set[str]()
    for path, step in study.steps:
        given = getattr(step, "tools", None)
        names = tuple(given.pick.values()) if isinstance(given, PickByFactor) else (given or "",)
        used |= {*names}
        for name in names:
            if name and name not in known:
                what = f"no set of tools is called {name!r}{suggestion(name, known)}"
                yield ValidationIssue(f"{path}.tools", what, absent=True)
            elif name and step.side_by_side and known[name].writes:
                what = f"the tools {', '.join(known[name].writes)} of {name!r} change something, once for each column"
                yield ValidationIssue(f"{path}.tools", f"{what}; name a set without `writes`, whose tools only read")
    for name in known:
        if name not in used:
            yield ValidationIssue(f"tools.{name}", "no conversation has `tools: " + name + "`; remove it, or use it")
