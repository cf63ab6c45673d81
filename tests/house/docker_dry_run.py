"""Try the Dockerfile where there is no Docker: its COPY and RUN lines in a clean folder, then the demo.

    python -m tests.house.docker_dry_run FOLDER

Only the build stage is played, with this Python for the image's and FOLDER for its root. What the second
stage does, adding a user and the settings, stays untried. A quicker form links the packages that the lock
names from this environment, which `make` has installed from the same lock, instead of downloading them.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "experiments", "storage", "problems")
DEMO = ("demo", "--no-browser")
START_S = 90
DOWNLOAD = re.compile(r"/opt/parley/bin/pip install .*--require-hashes .*-r run\.lock")


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Give (instruction, its text), with continued lines joined and comments dropped."""
    joined = re.sub(r"\\\n\s*", "", dockerfile)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def build_stage(dockerfile: str) -> list[tuple[str, str]]:
    """Give the instructions between the first FROM and the second."""
    steps = instructions(dockerfile)
    second = [number for number, (word, _) in enumerate(steps) if word == "FROM"][1]
    return steps[1:second]


def build(image: Path, download: bool = True) -> Path:
    """Play the build stage below `image`; give the folder that the second stage would copy."""
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    workdir = image
    for word, text in build_stage((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        match word:
            case "WORKDIR":
                workdir = image / text.lstrip("/")
                workdir.mkdir(parents=True)
            case "COPY":
                *files, target = text.split()
                for file in files:
                    _copy(ROOT / file, workdir / target)
            case "RUN" if DOWNLOAD.fullmatch(text) and not download:
                link_packages(workdir / "run.lock", site_of(image / "opt/parley"))
            case "RUN":
                command = text.replace("/opt/parley", str(image / "opt/parley"))
                subprocess.run(command, shell=True, cwd=workdir, env=environ, check=True)
            case _:
                raise ValueError(f"the dry run does not know {word} in the build stage")
    return image / "opt/parley"


def link_packages(lock: Path, site: Path) -> None:
    """Make what a lock names, and nothing else of this environment, importable from another one."""
    pins = re.findall(r"^[^\s#].*?(?= *\\?$)", lock.read_text(encoding="utf-8"), re.M)
    for pin in map(Requirement, pins):
        if pin.marker and not pin.marker.evaluate():
            continue
        found = distribution(pin.name)
        tops = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
        for old in (*site.glob(f"{pin.name}-*.dist-info"), *map(site.joinpath, tops)):
            _remove(old)  # a new environment may come with a setuptools of its own
        for top in tops:
            (site / top).symlink_to(Path(str(found.locate_file(top))).resolve())


def _remove(old: Path) -> None:
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)


def site_of(installed: Path) -> Path:
    """The folder of an environment in which its packages lie."""
    return next(installed.glob("lib/python*/site-packages"))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target / source.name if target.is_dir() else target)


def left_out(image: Path, installed: Path) -> list[str]:
    """Give the files of the four rooms that were copied and then not installed."""
    site = site_of(installed)
    copied = [path.relative_to(image / "src") for room in ROOMS for path in (image / "src" / room).rglob("*")]
    files = (path for path in copied if (image / "src" / path).is_file())
    return sorted(str(path) for path in files if not (site / installed_as(path.as_posix())).exists())


def installed_as(name: str) -> str:
    """Where a file of the repository is in an environment: one folder of app/ is a package by itself."""
    return name.removeprefix("app/") if name.startswith("app/parley_studies/") else name


def demo_answers(installed: Path, data: Path) -> str:
    """Start the demo as the container would, and give what /healthz says."""
    return page_of(installed, data, f"sqlite:///{data}/parley.db", DEMO, "healthz")


def page_of(installed: Path, folder: Path, database: str, words: Sequence[str], path: str) -> str:
    """Start `parley` with these words in a folder, without this environment on its path, and give a page of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {"PATH": f"{installed}/bin:/usr/bin:/bin", "PARLEY_PORT": str(port), "HOME": str(folder)}
    environ |= {"PARLEY_HOST": "127.0.0.1", "PARLEY_DATABASE_URL": database}
    server = subprocess.Popen([installed / "bin/parley", *words], cwd=folder, env=environ)
    try:
        return _wait_for(f"http://127.0.0.1:{port}/{path}", server)
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(url: str, server: subprocess.Popen) -> str:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                return reply.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer within {START_S} s; `parley` ended with {server.poll()}")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    place = build(folder)
    print("left out of the installation:", left_out(folder, place) or "nothing")
    print("healthz:", demo_answers(place, folder))
