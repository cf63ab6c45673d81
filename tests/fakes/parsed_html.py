"""A page as a browser would read it: its tags with their attributes, in order, and its words."""

from __future__ import annotations

from html.parser import HTMLParser


class ParsedPage(HTMLParser):
    """The content of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words = ""
        self.found: list[str] = []
        """Tags and words as they come, but for the space between blocks."""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.found.append(f"<{tag} {attrs}>")

    def handle_data(self, data: str) -> None:
        self.words += data
        self.found += [data.strip()] if data.strip() else []
