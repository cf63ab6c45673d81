"""This machine's nginx before servers on it, with deploy/nginx.conf as it is shipped.

Only what belongs to a machine is another: addresses, ports, folders, who it runs as; and it logs which server got what.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SHIPPED = Path(__file__).parents[2] / "deploy/nginx.conf"
KEPT = "hash $whose consistent;"
"""The line by which a session is kept to a server."""
LOGGED = "log_format whose '$whose $upstream_addr'; access_log {folder}/whose.log whose;"
START_S = 20.0


@dataclass(frozen=True)
class Nginx:
    """One that runs: where it answers, and its folder."""

    url: str
    folder: Path

    @property
    def given(self) -> list[tuple[str, list[int]]]:
        """For each request whose it was, and the ports of the servers that were tried, the last one with success."""
        lines = (self.folder / "whose.log").read_text(encoding="utf-8").splitlines()
        parted = (line.split(maxsplit=1) for line in lines)
        return [(whose, [int(one.rpartition(":")[2]) for one in tried.split(",")]) for whose, tried in parted]

    @property
    def complaints(self) -> str:
        """What it said is wrong."""
        return (self.folder / "complaints").read_text(encoding="utf-8")


def adapted(folder: Path, port: int, servers: Sequence[int], *, kept: bool) -> str:
    """The file that is shipped, for this machine; without what keeps a session to a server, unless it is `kept`."""
    upstream = "\n".join(f"server 127.0.0.1:{server} max_fails=1 fail_timeout=1s;" for server in servers)
    text = SHIPPED.read_text(encoding="utf-8").replace(" /tmp/", f" {folder}/")
    for shipped, here in {
        "listen 8080;": f"listen 127.0.0.1:{port};",
        "server server:7860 resolve max_fails=1 fail_timeout=1s;": upstream,
        "access_log off;": LOGGED.format(folder=folder),
        **({} if kept else {KEPT: ""}),
    }.items():
        assert text.count(shipped) == 1, f"{shipped!r} stands once in what is shipped"
        text = text.replace(shipped, here)
    user = "user root;\n" if os.geteuid() == 0 else ""  # or its workers could not go where tests have their files
    return user + text


@contextmanager
def before(nginx: str, folder: Path, *servers: int, kept: bool = True) -> Iterator[Nginx]:
    """The nginx at a path, before servers at some ports, until the block ends."""
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "nginx.conf"
    config.write_text(adapted(folder, port, servers, kept=kept), encoding="utf-8")
    command = [nginx, "-e", "stderr", "-c", str(config), "-g", "daemon off;"]
    with (folder / "complaints").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        found = Nginx(f"http://127.0.0.1:{port}", folder)
        try:
            _wait(process, port, found)
            yield found
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], port: int, found: Nginx) -> None:
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"nginx did not come up within {START_S:g} s:\n{found.complaints}")
