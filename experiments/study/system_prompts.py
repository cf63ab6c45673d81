"""What can be wrong with models' system prompts.

A prompt is filled where the model replies, so its names must mean something at every such place. One for each value of
a factor or of a loop's variable needs all the values that can be there. A fallback is given the prompt of the model
in whose place it replies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from experiments.errors import Fault, allowed
from experiments.study.model_spec import Model, PickText
from experiments.study.scope import Asked, Names
from experiments.study.template import SLOT, names


def may_reply(texts: Sequence[str], models: Sequence[str], scope: Names) -> tuple[str, ...]:
    """The models that a step's own words for them can mean at a place."""
    found: dict[str, None] = {}
    for text in texts:
        slot = SLOT.fullmatch(text.strip())
        if slot and slot[1] in scope.values:
            found |= dict.fromkeys(scope.possible(slot[1]))
        else:
            found |= dict.fromkeys(models if "{{" in text else [text])
    return tuple(model for model in found if model in models)


def faults(models: Mapping[str, Model], asked: Sequence[Asked]) -> Iterator[Fault]:
    """What is wrong with the system prompts of the models that reply somewhere, each thing once."""
    told: set[tuple[str, str]] = set()
    for use in asked:
        for where, name, fault in (*_unknown(models[use.model], use), *_picked(models[use.model], use)):
            if (where, name) not in told:
                told.add((where, name))
                yield Fault(where, fault)
    for model in dict.fromkeys(use.model for use in asked):
        yield from _strays(model, models[model], [use.names for use in asked if use.model == model])


def _texts(model: Model, where: str) -> Iterator[tuple[str, str]]:
    """The prompts, each with its place in the file."""
    if isinstance(model.system, str):
        yield where, model.system
    else:
        yield from ((f"{where}.pick.{value}", text) for value, text in model.system.pick.items())


def _unknown(model: Model, use: Asked) -> Iterator[tuple[str, str, str]]:
    for where, text in _texts(model, _where(use.model)):
        for name in names(text):
            if name not in use.names.known:
                hint = allowed(name, use.names.known)
                yield where, name, f"{{{{{name}}}}} means nothing at {use.at}, where the model replies{hint}"


def _picked(model: Model, use: Asked) -> Iterator[tuple[str, str, str]]:
    if not isinstance(model.system, PickText):
        return
    by, where = model.system.by, _where(use.model)
    if by not in use.names.values:
        hint = allowed(by, use.names.values)
        yield f"{where}.by", by, f"no factor or loop is called {by!r} at {use.at}, where the model replies{hint}"
        return
    for value in use.names.possible(by):
        if value not in model.system.pick:
            yield f"{where}.pick", value, f"has no prompt for {by} = {value!r}"


def _strays(name: str, model: Model, scopes: Sequence[Names]) -> Iterator[Fault]:
    """Prompts for values that there are nowhere."""
    if not isinstance(model.system, PickText):
        return
    by = model.system.by
    known = {value for scope in scopes for value in scope.values.get(by, ())}
    for value in model.system.pick if known else ():
        if value not in known:
            yield Fault(f"{_where(name)}.pick.{value}", f"{value!r} is no value of {by}{allowed(value, known)}")


def _where(model: str) -> str:
    return f"models.{model}.system"
