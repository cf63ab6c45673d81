"""Values as YAML that people read; it reads back as the same values, whichever version of YAML a reader knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

# How a text begins that no version of YAML takes for a number, a date or a truth value.
PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[^\W\d_]", re.IGNORECASE)
WIDTH = 120


class _Representer(RoundTripRepresenter):
    """Writes 1e-05 as 1.0e-05: without the point YAML 1.1 reads a text."""

    def float(self, value: float) -> Any:
        text = repr(value)
        if "e" not in text or "." in text:
            return self.represent_float(value)
        return self.represent_scalar("tag:yaml.org,2002:float", text.replace("e", ".0e"))


_Representer.add_representer(float, _Representer.float)


def yaml_text(value: Any, width: int = WIDTH) -> str:
    """Plain JSON as YAML, in its order; the lines of a text stand below each other."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = width
    written = StringIO()
    yaml.dump(_styled(value), written)
    return written.getvalue()


def _styled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_styled_text(key): _styled(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_styled(part) for part in value]
    return _styled_text(value)


def _styled_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    lines = value.removesuffix("\n").split("\n")
    if not all(map(str.isprintable, lines)):
        return DoubleQuotedScalarString(value)
    if "\n" in value and all(line == line.strip() != "" for line in (lines[0], lines[-1])):
        return LiteralScalarString(value)
    return value if PLAIN.match(value) else DoubleQuotedScalarString(value)
