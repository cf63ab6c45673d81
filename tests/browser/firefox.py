"""Debian's Firefox, driven by its own Marionette protocol, as Playwright drives only a Firefox of its own.

A message is its length, a colon and JSON: `[0, id, command, parameters]` is answered by `[1, id, error, result]`
(Firefox source docs, "Marionette: Protocol"). The commands are those of W3C WebDriver.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.browser.waiting import LOOK_MS, MOST_S

PREFERENCES = {"marionette.port": 0, "app.normandy.enabled": False, "browser.shell.checkDefaultBrowser": False}
ARGUMENTS = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote")
PORT_FILE = "MarionetteActivePort"
# The key of an element's reference (W3C WebDriver, section "Elements").
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


SIZE = """const style = gBrowser.selectedBrowser.style;
for (const [side, px] of Object.entries(arguments[0])) style[`min-${side}`] = style[`max-${side}`] = `${px}px`;"""
COMPLAINTS = """const called = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).getEvents()
  .filter((event) => event.level === "error").map((event) => [event.filename, event.arguments.join(" ")]);
const thrown = Services.console.getMessageArray()
  .filter((told) => told instanceof Ci.nsIScriptError && !(told.flags & Ci.nsIScriptError.warningFlag))
  .map((told) => [told.sourceName, told.errorMessage]);
return [...called, ...thrown].filter(([from]) => from?.startsWith(arguments[0])).map((told) => told.join(": "));"""


class Firefox:
    """A window of a Firefox that runs."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=MOST_S)
        self._file, self._last = self._socket.makefile("rb"), 0
        self._read()  # its greeting
        self.version: str = self.ask("WebDriver:NewSession")["capabilities"]["browserVersion"]

    def ask(self, command: str, **parameters: Any) -> Any:
        """Send a command and return its result; raises AssertionError if Firefox answers an error."""
        self._last += 1
        sent = json.dumps([0, self._last, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(sent), sent))
        _, _, error, result = self._read()
        assert error is None, f"{command} {parameters}: {error}"
        return result

    def _read(self) -> Any:
        length = b""
        while (digit := self._file.read(1)) != b":":
            assert digit, "Firefox closed the connection"
            length += digit
        return json.loads(self._file.read(int(length)))

    def close(self) -> None:
        """Let go of the window."""
        self._file.close()
        self._socket.close()

    def size(self, width: int, height: int) -> None:
        """Give the page a size in px, also one below the least that Firefox gives its window."""
        self.ask("Marionette:SetContext", value="chrome")
        self.run(SIZE, {"width": width, "height": height})
        self.ask("Marionette:SetContext", value="content")
        self.until("innerWidth === arguments[0] && innerHeight === arguments[1]", width, height)

    def complaints(self, url: str) -> list[str]:
        """What the browser's console says of errors in what came from an address."""
        return list(self.run(COMPLAINTS, url, sandbox="system"))

    def run(self, script: str, *args: Any, sandbox: str = "default") -> Any:
        """What a script's `return` says of the page."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(args), sandbox=sandbox)["value"]

    def until(self, expression: str, *args: Any) -> Any:
        """Wait until an expression of the page is true; `arguments` holds what it is given."""
        give_up_s = time.monotonic() + MOST_S
        while not (found := self.run(f"return {expression}", *args)):
            assert time.monotonic() < give_up_s, (expression, self.run("return document.body.innerText"))
            time.sleep(LOOK_MS / 1000)
        return found

    def all(self, selector: str) -> list[str]:
        """The elements that a selector finds."""
        return [one[ELEMENT] for one in self.ask("WebDriver:FindElements", using="css selector", value=selector)]

    def click(self, selector: str) -> None:
        """Bring each element that a selector finds to the middle of the window, and click it with the mouse."""
        for element in self.all(selector):
            self.run("arguments[0].scrollIntoView({ block: 'center' })", {ELEMENT: element})
            self.ask("WebDriver:ElementClick", id=element)

    def type(self, selector: str, text: str) -> None:
        """Type into each element that a selector finds."""
        for element in self.all(selector):
            self.ask("WebDriver:ElementSendKeys", id=element, text=text)


@contextmanager
def running(path: str, folder: Path) -> Iterator[Firefox]:
    """Firefox without a window on the screen, with a new profile in a folder."""
    profile = folder / "profile"
    profile.mkdir()
    lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    command = [path, *ARGUMENTS, "--profile", str(profile), "about:blank"]
    with (folder / "firefox.txt").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with closing(Firefox(_port(profile / PORT_FILE, process))) as page:
            yield page
    finally:
        process.terminate()
        process.wait(MOST_S)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    give_up_s = time.monotonic() + MOST_S
    while not (file.is_file() and file.read_text().strip()):
        assert process.poll() is None, f"Firefox ended with {process.returncode}"
        assert time.monotonic() < give_up_s, "Firefox does not answer"
        time.sleep(LOOK_MS / 1000)
    return int(file.read_text())
