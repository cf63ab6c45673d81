"""Run `make demo` and `make test` on a Debian that has nothing but Python, make and git, as `make fresh` does.

    python3 tests/house/bare_debian.py bookworm trixie                  Debian 12 and 13

debootstrap makes the folder (apt-get install debootstrap); the commands run in it by chroot in namespaces of their own,
so that nothing of them outlives this script. It needs root and the network. Only the standard library is imported: it
runs before anything is installed. The commit that is checked out is tested, not what is uncommitted.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
# How this machine reaches the network; what is not there is left out.
MACHINES_OWN = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
PASSED_ON = ("PIP_", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# What names folders of this machine.
KEPT_BACK = ("PIP_FIND_LINKS",)
MOUNTS = "mount -t proc proc {0}/proc && mount --rbind /dev {0}/dev && mount -t tmpfs tmpfs {0}/tmp && "
DEMO_S, TEST_S = 1200, 3 * 3600


def make_folder(suite: str, folder: Path) -> None:
    """Unpack Debian's smallest system and clone the repository into it; raises CalledProcessError."""
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(folder)]
    subprocess.run(command, check=True)
    for name in MACHINES_OWN:
        if Path("/", name).is_file():
            shutil.copy(Path("/", name), folder / name)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(folder / "root/parley")], check=True)


def inside(folder: Path, command: str) -> subprocess.Popen[bytes]:
    """Start a shell command in the clone; whatever it starts ends with it, as its process namespace does."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(PASSED_ON) and name not in KEPT_BACK
    }
    environment |= {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "CI": "true",
    }
    chroot = MOUNTS.format(folder) + f'exec chroot {folder} sh -c "cd /root/parley && exec {command}"'
    return subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", chroot], env=environment
    )


@contextmanager
def running(folder: Path, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command, which is killed at the end with all that it started."""
    process = inside(folder, command)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def demo_answers(folder: Path) -> bool:
    """Return True if the first page of `make demo` is there before its time is up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ends = time.monotonic() + DEMO_S
    with running(folder, f"make demo PORT={port}") as demo:
        while demo.poll() is None and time.monotonic() < ends:
            if _page_is_there(port):
                return True
            time.sleep(1)
    return False


def _page_is_there(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/s/demo", timeout=5) as page:
            return bool(page.status == 200 and b"<html" in page.read())
    except OSError:
        return False


def tests_pass(folder: Path) -> bool:
    with running(folder, "make test") as tests:
        return tests.wait(TEST_S) == 0


def main() -> int:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("this needs root, and debootstrap: apt-get install debootstrap")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs inside is ended
    failed = 0
    for suite in sys.argv[1:]:
        with TemporaryDirectory(prefix="parley-bare-") as folder:
            make_folder(suite, Path(folder))
            for name, check in {"demo": demo_answers, "test": tests_pass}.items():
                passed = check(Path(folder))
                failed += not passed
                print(f"{suite}: make {name} {'works' if passed else 'FAILED'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
