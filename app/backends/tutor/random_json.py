"""A random reply that matches a JSON schema: the scripted model's reply if a schema is requested.

It understands nothing: such replies let a study's annotations be tried out at no cost, and are worth nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

WORDS = ("perhaps", "as they said", "the second one", "nothing of note")
MOST_ITEMS = 2


def random_value(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value of the schema, as far as its types and lists of values say what that is."""
    if "enum" in schema:
        return chance.choice(list(schema["enum"]))
    kinds = schema.get("type", "null")
    kind = chance.choice(kinds) if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            return {name: random_value(part, chance) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [random_value(schema.get("items", {}), chance) for _ in range(chance.randint(0, MOST_ITEMS))]
        case "boolean":
            return chance.random() < 1 / 2
        case "integer" | "number":
            low = round(schema.get("minimum", 0))
            return chance.randint(low, max(low, round(schema.get("maximum", low + 10))))
        case "string":
            return chance.choice(WORDS)
        case _:
            return None
