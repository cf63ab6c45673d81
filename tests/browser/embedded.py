"""The guide's snippets for pages of other sites, and what such a page hears."""

from __future__ import annotations

from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "embedding.md"
SERVER = "https://study.example.org"
MOST_LINES = 12
HEARD = "<script>heard = []; addEventListener('message', ({ origin, data }) => heard.push([origin, data]))</script>"
GRADIO = ({"type": "SET_SCROLLING", "enabled": False}, "[iFrameResizerChild]Ready")
"""What Gradio's own page sends to whoever frames it; it holds nothing of a study."""
PLAIN = '<h1>A survey</h1><p>Before.</p>{snippet}<button id="next" disabled>Next</button>'


def snippet(language: str, server: str, study: str = "plan") -> str:
    """A snippet of the guide, for a server and a study of the test."""
    text = next(block.text for block in blocks(GUIDE, language))
    assert len(text.splitlines()) <= MOST_LINES
    assert SERVER in text
    return text.replace(SERVER, server).replace("/s/plan", f"/s/{study}")
