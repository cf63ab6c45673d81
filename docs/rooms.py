"""A Mermaid graph of the packages and their imports, made from the code; `docs/generate.py` puts it into its page."""

from __future__ import annotations

from itertools import groupby

import grimp

from docs.tables import filled

HOUSE = ("app", "storage", "experiments", "problems")
EXTENSIONS = "extensions"
TYPES_ONLY = {("experiments.study", "experiments.session")}
# What nearly every room imports; an arrow to it would say nothing.
SHARED = ("errors", "clock", "tables")


def rooms() -> str:
    """A graph of the folders in the four packages, and of the extensions apart from their core: an arrow from each to
    those that it imports, shortcuts left out."""
    arrows = _direct(_arrows())
    lines = ["```mermaid", "flowchart TD"]
    for house in (EXTENSIONS, *HOUSE):
        names = sorted({name for arrow in arrows for name in arrow if name.partition(".")[0] == house})
        lines += [f"  subgraph {house}", *(f"    {name}[{name.rpartition('.')[2]}]" for name in names), "  end"]
    for one, group in groupby(sorted(arrows), key=lambda arrow: arrow[0]):
        lines.append(f"  {one} --> {' & '.join(other for _, other in group)}")
    return "\n".join([*lines, "```"])


def _arrows() -> set[tuple[str, str]]:
    graph = grimp.build_graph(*HOUSE)
    pairs = {
        (_room(module), _room(other))
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
    }
    return {(one, other) for one, other in pairs if one != other and "" not in (one, other)} - TYPES_ONLY


def _room(module: str) -> str:
    house, _, rest = module.removeprefix("app." if module.startswith(f"app.{EXTENSIONS}.") else "").partition(".")
    name = rest.partition(".")[0]
    if house == "problems":
        return house
    return "" if not name or name in SHARED or name == "__main__" else f"{house}.{name}"


def _direct(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows without those that a longer way says as well."""
    return {(one, other) for one, other in arrows if other not in _reached(one, arrows - {(one, other)})}


def _reached(start: str, arrows: set[tuple[str, str]]) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        left = [other for one, other in arrows if one in left and other not in found]
        found.update(left)
    return found


def drawn(page: str) -> str:
    return filled(page, "rooms", rooms())
