"""The calls that a model asks for, before any is made: whether they can be."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.backends.base import ToolCall, ToolSpec

TOO_MANY = "No more calls are possible now. Please reply."


def calls_data(calls: Sequence[ToolCall], specs: Sequence[ToolSpec], left: int) -> list[dict[str, str]]:
    """The calls as they are recorded; those that cannot be made say why."""
    names = [spec.name for spec in specs]
    return [
        {"id": call.id, "tool": call.tool, "arguments": call.arguments, **_invalid(call, names, number < left)}
        for number, call in enumerate(calls)
    ]


def _invalid(call: ToolCall, names: Sequence[str], possible: bool) -> dict[str, str]:
    if not possible:
        return {"invalid": TOO_MANY}
    if call.tool not in names:
        return {"invalid": f"There is no tool {call.tool!r}. There are: {', '.join(names)}."}
    try:
        sound = isinstance(json.loads(call.arguments or "{}"), dict)
    except ValueError:
        sound = False
    return {} if sound else {"invalid": "The arguments are not a JSON object."}
