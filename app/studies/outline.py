"""A study's outline: its parts and its flow, as values for any renderer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.markup import escape
from rich.tree import Tree

from experiments.study.base_model import Condition
from experiments.study.schema import FromTag, Loop, Node, Phase, Wave, weights
from experiments.study.step import Step
from experiments.study.study import Study

Kind = Literal[
    "languages",
    "problems",
    "model",
    "factor",
    "wave",
    "reminders",
    "memory",
    "tools",
    "help",
    "flow",
    "phase",
    "each",
    "step",
]


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a study, with its own parts; steps of the flow have a `path` (`question[*]/chat`), the others none."""

    kind: Kind
    text: str
    note: str = ""
    """Beside the title: the number of turns of a loop, or a step's own name."""
    only: str = ""
    """Under which condition it is met; always unless given."""
    path: str = ""
    children: tuple[Branch, ...] = ()


def outline(study: Study) -> tuple[Branch, ...]:
    return (*_things(study), Branch("flow", "", children=tuple(_flow(study.flow))))


def steps(branches: Sequence[Branch]) -> Iterator[Branch]:
    """Every step in these branches, in a participant's order; one that stands under several conditions comes again."""
    for branch in branches:
        if branch.kind == "step":
            yield branch
        yield from steps(branch.children)


def to_rich_tree(branches: Sequence[Branch], tree: Tree) -> None:
    for branch in branches:
        to_rich_tree(branch.children, tree.add(_drawn(branch)))


def _things(study: Study) -> Iterator[Branch]:
    file = study.file
    if len(file.offered) > 1:
        yield Branch("languages", ", ".join(file.offered))
    for name, pool in study.pools.items():
        yield Branch("problems", f"{name}: {len(pool)} from {file.problems[name].source}")
    for name, model in file.models.items():
        where = f" on {model.server}" if model.server else ""
        prompts = "" if isinstance(model.system, str) else f", a system prompt for each {model.system.by}"
        yield Branch("model", f"{name}: {model.backend}{where}{prompts}")
    for name, factor in file.factors.items():
        yield Branch("factor", f"{name}: {_values(factor)}")
    yield from _services(study)


def _services(study: Study) -> Iterator[Branch]:
    file = study.file
    for number, wave in enumerate(study.waves):
        yield Branch("wave", f"{wave.wave}: {_opening(wave, first=number == 0)}")
    if file.reminders:
        sent = ", ".join(one.when for one in file.reminders.send)
        yield Branch("reminders", f"by {' or '.join(file.reminders.channels)}: {sent}")
    if file.memory:
        kind = file.memory.kind
        yield Branch("memory", kind if isinstance(kind, str) else f"for each {kind.by}: {_listed(kind.pick)}")
    for name, tools in (file.tools or {}).items():
        yield Branch("tools", f"{name}: {tools.url or tools.package or ' '.join(tools.command)}")
    if file.help:
        yield Branch("help", file.help)


def _opening(wave: Wave, *, first: bool) -> str:
    opens, until = wave.opens, f", can be started for {wave.open_for}" if wave.open_for else ""
    until += f", late for {wave.grace} more" if wave.grace else ""
    until += f"; if missed: {wave.missed.replace('_', ' ')}" if wave.open_for and not first else ""
    if opens is None:
        return f"opens {'with the study' if first else 'when the wave before is over'}{until}"
    at = f" at {opens.at}" if opens.at else ""
    if opens.on:
        return f"opens on {opens.on}{at}{until}"
    after = f"{opens.after or 'at once'} after the {opens.since} of {opens.of or 'the wave before'}"
    return f"opens {after}{at and f',{at}'}{until}"


def _listed(named: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in named.items())


def _values(factor: object) -> str:
    if isinstance(factor, FromTag):
        return f"one of {factor.one_of}"
    given = weights(factor)  # type: ignore[arg-type]  # what is no OneOf is a list or weights
    return ", ".join(
        name if len(set(given.values())) == 1 else f"{name} ({weight:g})" for name, weight in given.items()
    )


def _flow(nodes: Sequence[Node], prefix: str = "") -> Iterator[Branch]:
    for node in nodes:
        path, only = f"{prefix}{node.id}", _condition_text(node.when)
        if isinstance(node, Phase):
            yield Branch("phase", node.phase, "", only, path, tuple(_flow(node.flow, f"{path}/")))
        elif isinstance(node, Loop):
            yield Branch("each", node.each, _times(node), only, path, tuple(_flow(node.flow, f"{path}[*]/")))
        elif isinstance(node, Step):
            yield Branch("step", node.step, node.id if node.id != node.step else "", only, path)


def _times(loop: Loop) -> str:
    count = str(loop.take) if loop.take else f"up to {loop.up_to}" if loop.up_to else "all"
    beside = "".join(f", each with another {name}" for name in loop.vary)
    wanted = f", wanted {loop.target} times each" if loop.target else ""
    return f"{count} {f'of {loop.of}' if loop.of else 'times'}{beside}{wanted}"


def _condition_text(condition: Condition | None) -> str:
    return " and ".join(f"{name} is {wanted}" for name, wanted in (condition or {}).items())


def _drawn(branch: Branch) -> str:
    text, note = escape(branch.text), escape(branch.note)
    only = f" [dim]if {escape(branch.only)}[/dim]" if branch.only else ""
    match branch.kind:
        case "phase":
            return f"[bold]{text}[/bold]{only}"
        case "each":
            return f"for each [bold]{text}[/bold]: {note}{only}"
        case "step":
            return f"{text} [dim]({note})[/dim]{only}" if note else f"{text}{only}"
        case _:
            return f"[cyan]{branch.kind}[/cyan] {text}".rstrip()
