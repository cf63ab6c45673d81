"""Tools that models may ask for in a conversation, by the Model Context Protocol.

A study names sets of tools, and a conversation has one of them: whatever differs between arms (the tools, who approves,
what is shown) differs between sets.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from experiments.study.base_model import Slug, StrictModel
from experiments.study.sections.recruitment import Address
from problems.errors import did_you_mean

_BETWEEN_WORDS = re.compile(r"[\s_.-]+|(?<=[a-z0-9])(?=[A-Z])")
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class ToolSet(StrictModel):
    """Tools of one server, and what they may do. One of `url`, `command` and `package` says where the server is."""

    url: Address = ""
    """The address of a server that is reached over HTTP."""
    server: Slug | None = None
    """The name under which the deployment has the key for the address (`PARLEY_MODEL_SERVERS`)."""
    command: tuple[str, ...] = ()
    """A program and its arguments, which speaks over its standard input and output. It is started anew for each
    participant and each turn of a loop, in the folder in which Parley was started: write whole paths. After five
    minutes without a call it is ended, and started again for the next one: what it has to keep for longer it must store
    under the session's name, which it has in `PARLEY_SESSION`."""
    package: Slug | None = None
    """A server in Python that a package provides under this name, in the entry points `parley.tools`."""
    allow: tuple[ToolName, ...] = ()
    """The tools that models may ask for. All of the server by default."""
    writes: tuple[ToolName, ...] = ()
    """The tools that change something. What the server itself says of them does not count."""
    approve: Literal["never", "writes", "always"] = "writes"
    """The calls that the participant must allow before they are made: none, those of `writes`, or all."""
    show: Literal["none", "names", "steps"] = "steps"
    """The parts of calls that the participant sees: nothing, the names of the tools, or names, arguments and
    results."""
    labels: dict[ToolName, str] = {}
    """The participants' words for the name of a tool or an argument, such as `{pay: Pay for an order}`. Of a name
    without a label they read its words: `get_order` is "Get order"."""
    max_calls: Annotated[int, Field(ge=1, le=100)] = 10
    """The maximum number of calls for one reply; after them the model must reply without tools."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30
    """The time limit of a call, in seconds. After it the model is told that the call failed."""
    max_chars: Annotated[int, Field(ge=100, le=200_000)] = 20_000
    """The maximum length of a result for the model, in characters."""

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        given = [name for name in ("url", "command", "package") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("needs one of `url`, `command` and `package`" + (f", not {len(given)}" if given else ""))
        if self.server and not self.url:
            raise ValueError("`server` has the key for `url`; remove it, or give the address")
        if self.allow and (odd := [name for name in self.writes if name not in self.allow]):
            hint = did_you_mean(odd[0], self.allow)
            raise ValueError(f"`writes` has {', '.join(odd)}, which `allow` has not{hint and '.'}{hint}")
        return self

    def asks(self, tool: str) -> bool:
        return self.approve == "always" or (self.approve == "writes" and tool in self.writes)

    def label(self, name: str) -> str:
        """Return the participants' words for the name of a tool or an argument."""
        words = _BETWEEN_WORDS.sub(" ", name).strip()
        return self.labels.get(name) or words[:1].upper() + words[1:] or name
