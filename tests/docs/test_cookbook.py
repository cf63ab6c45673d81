"""The cookbook's commands lead where its pages say: each is taken in an empty folder, from its files to its data."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks, parley, python, save_files
from tests.fakes.model_server import serve

pytestmark = pytest.mark.nightly

COOKBOOK = sorted(path for path in (ROOT / "docs" / "cookbook").glob("*.md") if path.name != "index.md")
COMMAND = re.compile(r"^    parley (.+?)(?: {2,}#.*)?$", re.M)
# They go on until they are stopped, or ask what goes on, also at a recruiter; tests/wiring starts them.
SERVERS = ("up", "serve", "console", "rehearse", "doctor", "recruit prolific")
FEW = 2


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", COOKBOOK, ids=lambda page: page.stem)
def test_the_commands_of_a_page_lead_to_its_data(page: Path, tmp_path: Path, soak: bool):
    save_files(page, tmp_path)
    with serve() as models:
        for command in COMMAND.findall(page.read_text(encoding="utf-8")):
            if not command.startswith(SERVERS):
                parley(tmp_path, command if soak else _short(command), **_servers(models.base_url))
        for block in blocks(page, "python"):
            python(tmp_path, block.text)


def _short(command: str) -> str:
    """The command with fewer simulated participants, and in this process alone."""
    more = {"check": f" --bots {FEW}", "power": " --workers 1"}.get(command.split()[0], "")
    return re.sub(r"^(simulate .* -n) \d+", rf"\1 {FEW}", command) + more


def _servers(url: str) -> dict[str, str]:
    """A model server in place of OpenAI's and of the lab's."""
    return {
        "PARLEY_OPENAI_API_KEY": "sk-cookbook",
        "PARLEY_OPENAI_BASE_URL": url,
        "PARLEY_MODEL_SERVERS": json.dumps({"ollama": {"url": url}}),
    }
