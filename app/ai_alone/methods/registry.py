"""The registry of methods: those in this folder, and those of other packages (entry points in "parley.methods").

A method is a class without constructor arguments, registered by a decorator; its docstring is its documentation:

    @method("ask_twice")
    class AskTwice: ...

Modules in this folder without a registered method are helpers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from app.ai_alone.methods.base import Method
from app.errors import MethodUnknown
from problems.plugins import Registry

# The methods that have columns in ChatBench's released file.
RELEASED = ("letter_only_zero_shot", "letter_only_few_shot", "free_text")

C = TypeVar("C", bound=Callable[[], Method])
METHODS: Registry[Method] = Registry("method", "app.ai_alone.methods", "parley.methods", MethodUnknown)


def method(name: str) -> Callable[[C], C]:
    def register(cls: C) -> C:
        METHODS.add(name, cls())
        return cls

    return register


def names() -> tuple[str, ...]:
    return (*RELEASED, *(name for name in METHODS.all() if name not in RELEASED))


def about(name: str) -> str:
    return inspect.getdoc(type(METHODS.find(name))) or ""
