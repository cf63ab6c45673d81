"""What `parley check` tells of a study: its tree."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.tree import Tree

from experiments.core.config import Condition
from experiments.core.resolve import Study
from experiments.core.study import Each, Node, OneOf, Phase, weights


def outline(study: Study, tree: Tree) -> None:
    """Draw a study's problems, models, factors and flow into a tree."""
    file = study.file
    if len(file.offered) > 1:
        tree.add(f"[cyan]languages[/cyan] {', '.join(file.offered)}")
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
