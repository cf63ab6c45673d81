"""What the participants' page asks Gradio for after its HTML: app/web/gradio_preloaded.json for the installed Gradio.

python -m tests.browser.preloaded         write it, after another Gradio was locked or the theme was changed
"""

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr
from playwright.sync_api import Page, sync_playwright

from app.web import gradio_page
from tests.browser.found import chromium
from tests.browser.visitor import Visitor
from tests.fakes import studies
from tests.fakes.served import Process

FILE = Path(gradio_page.__file__).parent / "gradio_preloaded.json"


def preloaded(page: Page, url: str) -> dict[str, Any]:
    """What the file has to say of the installed Gradio, by opening the first page of the study `short`."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(url)))
    Visitor(page, url).arrive("short")
    at_once = re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="\.?/([^"]*)"', page.request.get(f"{url}/").text())
    paths = {path[1:] for path in asked if path.startswith(("/assets/", "/theme.css"))}.difference(at_once)
    sizes = {path: len(page.request.get(f"{url}/{path}").body()) for path in sorted(paths)}
    return {"gradio": gr.__version__, "paths": _interleaved(sorted(sizes, key=sizes.__getitem__))}


def _interleaved(by_size: list[str], large: int = 9) -> list[str]:
    """Each of the large files, the largest first, before a share of the small ones: a browser has six connections, and
    while a small request waits for its answer a large file uses the line."""
    small, shares = by_size[:-large], -(-(len(by_size) - large) // large)
    groups = [[name, *small[at * shares : (at + 1) * shares]] for at, name in enumerate(by_size[: -large - 1 : -1])]
    return [path for group in groups for path in group]


def main() -> int:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        process = Process(Path(folder), (studies.short(Path(folder)),))
        process.start()
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        found = preloaded(browser.new_page(), process.url)
        browser.close()
        process.stop()
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(found['paths'])} paths of Gradio {found['gradio']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
