"""The Dockerfile's steps work: tried without Docker, by tests/house/docker_dry_run.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.docker_dry_run import ROOT, build, demo_answers, instructions, left_out

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = instructions(DOCKERFILE)


def test_the_container_does_not_run_as_root() -> None:
    words = [word for word, _ in STEPS]
    assert words.index("USER") < words.index("CMD")
    assert dict(STEPS)["USER"] not in ("root", "0")


def test_everything_that_is_copied_exists_and_reaches_the_builder() -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for word, text in STEPS:
        if word == "COPY" and "--from" not in text:
            for source in text.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in sent


def test_the_health_check_asks_the_port_that_is_exposed() -> None:
    steps = dict(STEPS)
    assert f":{steps['EXPOSE']}/healthz" in steps["HEALTHCHECK"]
    assert re.search(rf"PARLEY_PORT={steps['EXPOSE']}\b", steps["ENV"])


def index_answers(probe: Path) -> bool:
    """Whether packages can be had, asked with the smallest that Parley needs."""
    subprocess.run([sys.executable, "-m", "venv", str(probe)], check=True)
    pip = [probe / "bin/pip", "download", "-q", "--no-cache-dir", "--no-deps", "-d", probe, "mdurl"]
    return subprocess.run(pip, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_steps_of_the_dockerfile_give_a_demo_that_starts(tmp_path: Path) -> None:
    if not index_answers(tmp_path / "probe"):
        pytest.skip("no package index answers: the Dockerfile cannot be tried offline")
    image = tmp_path / "image"
    image.mkdir()
    installed = build(image)
    assert left_out(image, installed) == []
    help_text = subprocess.run([installed / "bin/parley", "--help"], capture_output=True, text=True, check=True)
    assert "demo" in help_text.stdout
    assert demo_answers(installed, tmp_path)
