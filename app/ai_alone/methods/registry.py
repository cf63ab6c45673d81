"""Which methods there are: those of this folder, and those that other packages name under "parley.methods".

A method is a class that is made without anything, and named by a decorator; its docstring says what it is:

    @method("ask_twice")
    class AskTwice: ...

Modules of this folder that name none are helpers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from app.ai_alone.methods.base import Method
from app.errors import MethodUnknown
from problems.plugins import Registry

RELEASED = ("letter_only_zero_shot", "letter_only_few_shot", "free_text")
"""Those that ChatBench's released file has columns for."""

C = TypeVar("C", bound=Callable[[], Method])
METHODS: Registry[Method] = Registry("method", "app.ai_alone.methods", "parley.methods", MethodUnknown)


def method(name: str) -> Callable[[C], C]:
    """Register the class below as the method `name`."""

    def register(cls: C) -> C:
        METHODS.add(name, cls())
        return cls

    return register


def names() -> tuple[str, ...]:
    """Name every method there is: ChatBench's released ones first, then in the order of the alphabet."""
    return (*RELEASED, *(name for name in METHODS.all() if name not in RELEASED))


def about(name: str) -> str:
    """What a method is, and where it comes from."""
    return inspect.getdoc(type(METHODS.find(name))) or ""
