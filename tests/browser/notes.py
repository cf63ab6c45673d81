"""The note of the participants' page, as it is when there is no connection, and what it covers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Frame, Page

TELL = """parley.paint({ note: { value: `<p class="note">There is no connection at the moment. Your text is still here.
  <button type="button" data-again>Try again</button></p>` } })"""
COVERED = """(those) => {
  const over = (one, note) => Math.min(one.right, note.right) > Math.max(one.left, note.left)
    && Math.min(one.bottom, note.bottom) > Math.max(one.top, note.top);
  const note = document.querySelector("#note .note").getBoundingClientRect();
  return [...document.querySelectorAll(those)].filter((one) => one.checkVisibility())
    .filter((one) => over(one.getBoundingClientRect(), note)).map((one) => one.outerHTML.slice(0, 90));
}"""
BUTTONS = "#box textarea, #send, #left [type=submit], #left [data-act=decline]"


def covered(page: Page | Frame) -> Any:
    """The boxes and buttons that the note covers."""
    return page.evaluate(COVERED, BUTTONS)
