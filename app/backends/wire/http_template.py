"""The body of a request as a study describes it: JSON in which `{{name}}` stands for a value.

Values are put in as what they are, never pasted as text: `"{{messages}}"` becomes a list, `"{{temperature}}"` a
number, and a key whose value the study does not give is left out. What people have written is never searched for names.
"""

import re
from collections.abc import Iterator, Mapping

from app.backends.base import JSON
from problems.errors import did_you_mean

NAMES = ("messages", "prompt", "system", "model", "temperature", "max_tokens")
TEXTS = ("prompt", "system", "model")
"""Those that can also stand inside a longer text."""
NAME = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


class _Absent:
    pass


ABSENT = _Absent()


def names_in(template: JSON) -> Iterator[str]:
    for text in _strings(template):
        yield from NAME.findall(text)


def faults_in(template: JSON) -> Iterator[str]:
    """What is wrong with a template: names that are none, and values inside a text that are no text."""
    for text in _strings(template):
        for name in NAME.findall(text):
            if name not in NAMES:
                yield f"{{{{{name}}}}} is no value; allowed: {', '.join(NAMES)}.{did_you_mean(name, NAMES)}"
            elif name not in TEXTS and not NAME.fullmatch(text):
                yield f"{{{{{name}}}}} must stand alone, not inside a text"


def _strings(template: JSON) -> Iterator[str]:
    match template:
        case str():
            yield template
        case dict() | list():
            for part in template.values() if isinstance(template, dict) else template:
                yield from _strings(part)
        case _:
            return


def fill(template: Mapping[str, JSON], values: Mapping[str, JSON]) -> dict[str, JSON]:
    parts = {key: _fill(part, values) for key, part in template.items()}
    return {key: part for key, part in parts.items() if not isinstance(part, _Absent)}


def _fill(template: JSON, values: Mapping[str, JSON]) -> JSON | _Absent:
    match template:
        case str():
            alone = NAME.fullmatch(template)
            if alone:
                value = values[alone[1]]
                return ABSENT if value is None else value
            return NAME.sub(lambda found: str(values[found[1]] or ""), template)
        case dict():
            return fill(template, values)
        case list():
            return [part for one in template if not isinstance(part := _fill(one, values), _Absent)]
        case _:
            return template
