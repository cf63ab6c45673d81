"""Which methods there are: those of this folder, and those that other packages name under "parley.methods".

A method is a class that is made without anything, and named by a decorator; its docstring says what it is:

    @method("ask_twice")
    class AskTwice: ...

Modules of this folder that name none are helpers. The table fills on first use and only then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from app.ai_alone.methods.base import Method
from app.errors import MethodUnknown
from problems.errors import did_you_mean
from problems.plugins import discover

GROUP = "parley.methods"
RELEASED = ("letter_only_zero_shot", "letter_only_few_shot", "free_text")
"""Those that ChatBench's released file has columns for."""

C = TypeVar("C", bound=Callable[[], Method])
_METHODS: dict[str, Method] = {}


def method(name: str) -> Callable[[C], C]:
    """Register the class below as the method `name`."""

    def register(cls: C) -> C:
        if name in _METHODS:
            raise ValueError(f"Method {name!r} is registered twice. Give one of them another name.")
        _METHODS[name] = cls()
        return cls

    return register


def names() -> tuple[str, ...]:
    """Name every method there is: ChatBench's released ones first, then in the order of the alphabet."""
    discover("app.ai_alone.methods", GROUP)
    return (*RELEASED, *sorted(_METHODS.keys() - set(RELEASED)))


def find(name: str) -> Method:
    """The method of that name; raises MethodUnknown with what is allowed."""
    known = names()
    if name not in known:
        hint = did_you_mean(name, known)
        raise MethodUnknown(f"There is no method {name!r}; allowed: {', '.join(known)}.{hint}")
    return _METHODS[name]


def about(name: str) -> str:
    """What a method is, and where it comes from."""
    return inspect.getdoc(type(find(name))) or ""
