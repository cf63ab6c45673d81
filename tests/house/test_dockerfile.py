"""The Dockerfile's steps work: tried without Docker, by tests/house/docker_dry_run.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.docker_dry_run import DOWNLOAD, ROOT, build, demo_answers, instructions, left_out, link_packages

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


@pytest.fixture(params=["linked", "downloaded"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What the second stage would copy; where packages can be had, a soak downloads them as Docker would."""
    if request.param == "downloaded" and not index_answers(tmp_path / "probe"):
        pytest.skip("no package index answers: the Dockerfile cannot be tried offline")
    image = tmp_path / "image"
    image.mkdir()
    return build(image, download=request.param == "downloaded")


def test_one_step_installs_what_the_lock_names() -> None:
    assert len([text for word, text in STEPS if word == "RUN" and DOWNLOAD.fullmatch(text)]) == 1


@pytest.mark.soak
def test_the_steps_of_the_dockerfile_give_a_demo_that_starts(installed: Path, tmp_path: Path) -> None:
    assert left_out(tmp_path / "image", installed) == []
    assert demo_answers(installed, tmp_path)


def test_only_what_the_lock_names_is_linked(tmp_path: Path) -> None:
    pins = "# Pins:\nPyYAML==6.0 ; python_version > '3' \\\n    --hash=sha256:0\nnone==1 ; python_version < '3'\n"
    (tmp_path / "run.lock").write_text(pins)
    link_packages(tmp_path / "run.lock", tmp_path)
    assert (tmp_path / "yaml/__init__.py").is_file()
    assert not (tmp_path / "pytest").exists()
