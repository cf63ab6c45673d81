"""Build the sdist from the files of the repository, and the wheel from the sdist, as an installer would.

    python -m tests.house.distributions FOLDER          `make dist` does it into dist/

The files are copied before, so that nothing of an earlier build gets in and nothing is left in the checkout. Nothing
is downloaded: setuptools is that of this environment.
"""

import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
START_S = 90


def listed() -> list[str]:
    """The files that are, or with the next commit would be, part of the repository; raises CalledProcessError."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def build(out: Path) -> tuple[Path, Path]:
    """Build both into a folder; give the paths of sdist and wheel."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        source, unpacked = Path(folder, "source"), Path(folder, "unpacked")
        for name in listed():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
        sdist = out / _hook("build_sdist", source, out)
        with tarfile.open(sdist) as archive:
            # Python before 3.11.4, which Debian 12 has, knows no filters; tarfile's documentation has this line.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(unpacked)
        return sdist, out / _hook("build_wheel", unpacked / sdist.name.removesuffix(".tar.gz"), out)


def _hook(name: str, source: Path, out: Path) -> str:
    """Call a hook of setuptools (PEP 517) in a process of its own; give the name of the file that it made."""
    code = f"from setuptools import build_meta; print(build_meta.{name}({str(out.resolve())!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"setuptools could not {name.replace('_', ' ')}:\n{done.stdout}\n{done.stderr}")
    return done.stdout.splitlines()[-1]


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
        server.wait(60)


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
    print(*build(Path(sys.argv[1])), sep="\n")
