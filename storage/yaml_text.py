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


def yaml_text(value: Any, width: int = WIDTH, *, anchors: bool = False) -> str:
    """Plain JSON as YAML, in its order; the lines of a text stand below each other. With `anchors`, a list or mapping
    that stands in several places is written once, and referred to."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = width
    written = StringIO()
    yaml.dump(_styled(value, {} if anchors else None), written)
    return written.getvalue()


def _styled(value: Any, shared: dict[int, Any] | None) -> Any:
    """The value with styles; `shared` has what is styled by its identity, if what is the same stays the same."""
    if shared is not None and id(value) in shared:
        return shared[id(value)]
    if isinstance(value, Mapping):
        styled: Any = {_styled_text(key): _styled(part, shared) for key, part in value.items()}
    elif isinstance(value, list | tuple):
        styled = [_styled(part, shared) for part in value]
    else:
        return _styled_text(value)
    if shared is not None:
        shared[id(value)] = styled
    return styled


def _styled_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    lines = value.removesuffix("\n").split("\n")
    if not all(map(str.isprintable, lines)):
        return DoubleQuotedScalarString(value)
    if "\n" in value and all(line == line.strip() != "" for line in (lines[0], lines[-1])):
        return LiteralScalarString(value)
    return value if PLAIN.match(value) else DoubleQuotedScalarString(value)
