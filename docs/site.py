"""Builds the documentation's site in build/site, from the pages in docs and those at the top of the repository.

    python -m docs.site

The pages are copied to build/docs first: those at the top get an address on the site, and links that lead out of the
site (to code, to a licence) become plain text. Graphs, which GitHub draws by a large script, become tables. Nothing
asks the network, and nothing on the site loads anything from another host.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.tables import table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIG = ROOT / "mkdocs.yml"
BUILD = ROOT / "build"
# Pages at the top of the repository, and their names on the site.
TOP = {"SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
COPIED = (".md", ".png", ".svg", ".css", ".json", ".html")
GRAPH = re.compile(r"^```mermaid\n(?P<graph>[\s\S]*?)^```\n", re.M)
ARROWS = re.compile(r"^ *(\S+) --> (.+)$", re.M)
LINK = re.compile(
    r"^```[\s\S]*?^```"  # code is no link
    r"|(?<=\n\n)(?: {4}.*\n)+"
    r"|(?<!!)\[(?P<text>(?:`[^`\n]*`|[^\]\n]|\n(?!\n))+)\]\((?P<path>[^)#:\s]*)(?P<anchor>#[^)\s]*)?\)"
    r"|`[^`\n]+`",
    re.M,
)


def sources() -> Iterator[tuple[Path, Path]]:
    for path in sorted(DOCS.rglob("*")):
        if path.suffix in COPIED:
            yield path, path.relative_to(DOCS)
    for name, page in TOP.items():
        yield ROOT / name, Path(page)


def stage(folder: Path) -> None:
    """Copy the pages to a folder, with links that hold there."""
    shutil.rmtree(folder, ignore_errors=True)
    places = {source: folder / place for source, place in sources()}
    for source, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            place.write_text(relinked(source, places), encoding="utf-8")
        else:
            shutil.copyfile(source, place)


def relinked(page: Path, places: Mapping[Path, Path]) -> str:
    """The text of a page, its links as they are on the site; code stays as it is."""

    def link(match: re.Match[str]) -> str:
        text, path, anchor = match["text"], match["path"], match["anchor"] or ""
        if not text or not path:
            return match.group()
        target = (page.parent / path).resolve()
        place = places.get(target) or places.get(target / "index.md")
        if place is None:  # a file that is not on the site
            return text
        return f"[{text}]({os.path.relpath(place, places[page].parent)}{anchor})"

    return LINK.sub(link, GRAPH.sub(_listed, page.read_text(encoding="utf-8")))


def _listed(graph: re.Match[str]) -> str:
    """A Mermaid graph as a table of its arrows."""
    arrows = ((f"`{one}`", f"`{to.replace(' & ', '`, `')}`") for one, to in ARROWS.findall(graph["graph"]))
    return table(("from", "arrows to"), arrows)


def build(into: Path) -> int:
    """Build the site in the folder `site` of a folder; the exit code is not 0 if a link or an anchor leads nowhere."""
    stage(into / "docs")
    config = Path(shutil.copy(CONFIG, into))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(config)]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    if code := build(BUILD):
        return code
    print(f"To read it at http://127.0.0.1:8000: python3 -m http.server --bind 127.0.0.1 --directory {BUILD / 'site'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
