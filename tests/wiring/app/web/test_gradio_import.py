"""Neither server has Gradio read or write its stubs for editors, which takes a third of a start."""

import subprocess
import sys

import pytest

IMPORT = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import {server}, gradio, inspect
assert inspect.getfile(gradio.Button).endswith("button.py")
print(sum(one.endswith(".pyi") for one in opened))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("server", ["app.web.server", "app.web.console.server"])
def test_a_server_imports_gradio_without_its_stubs(server: str) -> None:
    code = IMPORT.format(server=server)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split()[:1] == ["0"], done.stdout + done.stderr
