"""The answers that a study may send to the page around it, errors in the list of those it does send, and what would
leave participants in a frame without a way on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from experiments.errors import ValidationIssue, suggestion
from experiments.study.step import Step
from experiments.study.study import Study


def embed_faults(study: Study) -> Iterator[ValidationIssue]:
    embed = study.file.embed
    if embed is None:
        return
    paths = sent_paths(study)
    for number, name in enumerate(embed.send):
        if name not in embed.answers or name in paths:
            continue
        at = f"embed.send[{number}]"
        if name in {f"{step.id}.{asked.name}" for _, step in study.steps for asked in step.questions_asked()}:
            words = f"{name!r} is asked more than once (in an `each`, or in two steps of one id), and has no one answer"
            yield ValidationIssue(at, f"{words}; send answers of steps that are taken once{_known(paths)}")
        else:
            yield ValidationIssue(at, f"{name!r} is not a question of the study{suggestion(name, paths)}")


def _known(paths: Mapping[str, str]) -> str:
    return f": {', '.join(sorted(paths)[:12])}" if paths else ""


def embed_advice(study: Study) -> Iterator[str]:
    embed, last = study.file.embed, study.file.outcomes.get("complete")
    if embed is None:
        return
    if not (last and last.text) and not getattr(study.flow[-1], "text", ""):
        yield (
            "embed: the last page says that it can be closed, and closing it would leave the page around the study, "
            "too. Write how it goes on: `outcomes: {complete: {text: ...}}`."
        )
    if "outcome" not in embed.send:
        yield "embed.send: has no `outcome`, so the page around the study does not learn when it can go on."


def sent_paths(study: Study) -> Mapping[str, str]:
    """The answers that can be sent, as `step.question`, each with the path of its step: those of steps outside of
    loops whose id no other step has."""
    ids = Counter(step.id for _, step in study.steps)
    once: list[tuple[str, Step]] = [
        (path, step) for path, step in study.steps if "[*]" not in path and ids[step.id] == 1
    ]
    return {f"{step.id}.{asked.name}": path for path, step in once for asked in step.questions_asked()}
