"""What `parley check` tells of a study: its tree, and how long it takes as simulated participants find it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from tempfile import TemporaryDirectory

from rich.markup import escape
from rich.tree import Tree

from app.bots.simulate import START_US, label_of, seed_of, simulate, walk_through
from app.clock import VirtualClock
from app.runtime import Runtime
from app.settings import Settings
from experiments.core.assign import assign
from experiments.core.config import Condition
from experiments.core.resolve import Study, restore
from experiments.core.study import Each, Node, OneOf, Phase, weights
from storage.engine import open_database

MOST_DRAWS = 2_000
"""How many assignments are looked at for values of factors that are seldom drawn."""


def outline(study: Study, tree: Tree) -> None:
    """Draw a study's problems, models, factors and flow into a tree."""
    file = study.file
    for name, pool in study.pools.items():
        tree.add(f"[cyan]problems[/cyan] {escape(name)}: {len(pool)} from {escape(file.problems[name].source)}")
    for name, model in file.models.items():
        where = f" on {escape(model.server)}" if model.server else ""
        prompts = "" if isinstance(model.system, str) else f", a system prompt for each {escape(model.system.by)}"
        tree.add(f"[cyan]model[/cyan] {escape(name)}: {escape(model.backend)}{where}{prompts}")
    for name, factor in file.factors.items():
        tree.add(f"[cyan]factor[/cyan] {escape(name)}: {escape(_values(factor))}")
    _nodes(study.flow, tree.add("[cyan]flow[/cyan]"))


def _values(factor: object) -> str:
    if isinstance(factor, OneOf):
        return f"one of {factor.one_of}"
    given = weights(factor)  # type: ignore[arg-type]  # what is no OneOf is a list or weights
    return ", ".join(
        name if len(set(given.values())) == 1 else f"{name} ({weight:g})" for name, weight in given.items()
    )


def _nodes(nodes: Sequence[Node], tree: Tree) -> None:
    for node in nodes:
        condition = f" [dim]if {escape(_said(node.when))}[/dim]" if node.when else ""
        if isinstance(node, Phase):
            _nodes(node.flow, tree.add(f"[bold]{escape(node.phase)}[/bold]{condition}"))
        elif isinstance(node, Each):
            count = str(node.take) if node.take else f"up to {node.up_to}" if node.up_to else "all"
            beside = "".join(f", each with another {name}" for name in node.beside)
            wanted = f", wanted {node.target} times each" if node.target else ""
            of = f"of {node.of}" if node.of else "times"
            head = f"for each [bold]{escape(node.each)}[/bold]: {count} {escape(of)}{escape(beside)}{wanted}"
            _nodes(node.flow, tree.add(f"{head}{condition}"))
        else:
            named = f" [dim]({escape(node.id)})[/dim]" if node.id != node.step else ""
            tree.add(f"{node.step}{named}{condition}")


def _said(condition: Condition) -> str:
    return " and ".join(f"{name} is {wanted}" for name, wanted in condition.items())


async def typical_minutes(study: Study, count: int) -> float:
    """The median length of simulated sessions; raises StudyError where one cannot be finished."""
    study = _offline(study)
    with TemporaryDirectory() as folder:
        clock = VirtualClock(START_US)
        runtime = Runtime(open_database(f"sqlite:///{folder}/check.db"), Settings(), clock)
        try:
            runtime.studies.register(study)
            walks = [walked.minutes async for walked in simulate(runtime, clock, study, count, "check")]
            for label in _rare(study, count):
                await walk_through(runtime, clock, study, label)
            return median(walks)
        finally:
            await runtime.close()


def _rare(study: Study, count: int) -> list[str]:
    """Labels of sessions that bring values of factors which the first `count` sessions do not."""
    met: set[tuple[str, str]] = set()
    labels = []
    for number in range(MOST_DRAWS if study.file.factors else 0):
        label = label_of(study, "check", number)
        got = set(assign(study.file.factors, study.pools, seed_of(label)).items())
        if number >= count and got - met:
            labels.append(label)
        met |= got
    return labels


def _offline(study: Study) -> Study:
    """The same study with the scripted model in place of every other: trying it out must cost nothing."""
    document = json.loads(study.document)
    document["file"]["models"] = {name: {"backend": "scripted"} for name in study.file.models}
    return restore(json.dumps(document))
