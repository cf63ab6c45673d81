"""This machine's nginx before servers on it, with deploy/nginx.conf as it is shipped, and a front before that.

Only what belongs to a machine is another: addresses, ports, folders, certificates, who it runs as.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.certificate import self_signed

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy/nginx.conf"
CALM = "access_log {folder}/calm.log calm;"
# A proxy that does TLS, as most are set up: it adds an address to whatever the browser says.
FRONT = """location / {{
    proxy_pass {behind}; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
}}"""
START_S = 100.0


@dataclass(frozen=True)
class Nginx:
    """One that runs: where it answers, its folder, and what its certificate is checked by, if it does TLS."""

    url: str
    folder: Path
    trusted: ssl.SSLContext | bool = True

    @property
    def complaints(self) -> str:
        return (self.folder / "complaints").read_text(encoding="utf-8")


def for_host() -> str:
    """The file for nginx of a machine: what the command of docs/operator.md makes of what is shipped."""
    page = (ROOT / "docs/operator.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ +(sed .*deploy/nginx\.conf) > /etc/nginx/nginx\.conf$", page, re.MULTILINE)
    done = subprocess.run(
        command.replace("/opt/parley", str(ROOT)), shell=True, capture_output=True, text=True, check=True
    )
    return done.stdout


def adapted(text: str, folder: Path, port: int, servers: Sequence[int], logged: str) -> str:
    """A file for this machine."""
    upstream = "\n".join(f"server 127.0.0.1:{server} max_fails=1 fail_timeout=1s;" for server in servers)
    for shipped, here in {
        r" /(tmp|run|var/lib/nginx|etc/nginx/tls)/": f" {folder}/",
        r"user www-data;": "",
        r"listen \[::\]:443 ssl;": "",
        r"listen (8080|443)": f"listen 127.0.0.1:{port}",
        r"(?m)^ +server [^ ]+:7860 .*$": upstream,
        r"set_real_ip_from 172\.31\.7[78]\.1;": "set_real_ip_from 127.0.0.1;",
        r"access_log off;": logged.format(folder=folder) if logged else "access_log off;",
    }.items():
        text = re.sub(shipped, here.replace("\\", r"\\"), text)
    user = "user root;\n" if os.geteuid() == 0 else ""  # or its workers could not go where tests have their files
    temporary = "".join(f"{name}_temp_path {folder}/{name};" for name in ("fastcgi", "uwsgi", "scgi"))
    if "proxy_temp_path" not in text:
        own = f"{temporary}client_body_temp_path {folder}/client;proxy_temp_path {folder}/proxy;"
        text = text.replace("http {", f"http {{ {own}", 1)
    return user + text


@contextmanager
def before(nginx: str, folder: Path, *servers: int, host: bool = False, logged: str = CALM) -> Iterator[Nginx]:
    """The nginx at a path, before servers at some ports, until the block ends: as compose.yaml starts it, or as that of
    a `host`."""
    folder.mkdir()
    port, trusted = _free(), _certified(folder) if host else True
    text = for_host() if host else SHIPPED.read_text(encoding="utf-8")
    found = Nginx(f"http{'s' * host}://127.0.0.1:{port}", folder, trusted)
    with _running(nginx, found, port, adapted(text, folder, port, servers, logged)):
        yield found


@contextmanager
def below(nginx: str, folder: Path, locations: str, *, tls: bool = False) -> Iterator[Nginx]:
    """A proxy for one host with these locations, until the block ends; with `tls` it does TLS."""
    folder.mkdir()
    port, trusted = _free(), _certified(folder) if tls else True
    certified = f"ssl_certificate {folder}/study.pem; ssl_certificate_key {folder}/study.key;" if tls else ""
    temporary = "".join(
        f"{name}_temp_path {folder}/t;" for name in ("fastcgi", "uwsgi", "scgi", "client_body", "proxy")
    )
    listening = f"listen 127.0.0.1:{port}{' ssl' * tls}; {certified}"
    text = f"events {{ }} http {{ access_log off; {temporary} server {{ {listening} {locations} }} }}"
    user = "user root;" if os.geteuid() == 0 else ""
    found = Nginx(f"http{'s' * tls}://127.0.0.1:{port}", folder, trusted)
    with _running(nginx, found, port, f"pid {folder}/nginx.pid; {user} {text}"):
        yield found


def front(nginx: str, folder: Path, behind: Nginx) -> AbstractContextManager[Nginx]:
    return below(nginx, folder, FRONT.format(behind=behind.url), tls=True)


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _certified(folder: Path) -> ssl.SSLContext:
    file = self_signed(folder / "study.pem")
    (folder / "study.key").hardlink_to(file)
    return ssl.create_default_context(cafile=file)


@contextmanager
def _running(nginx: str, found: Nginx, port: int, text: str) -> Iterator[None]:
    config = found.folder / "nginx.conf"
    config.write_text(text if "daemon off;" in text else f"daemon off;\n{text}", encoding="utf-8")
    command = [nginx, "-e", "stderr", "-c", str(config)]
    with (found.folder / "complaints").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            _wait(process, port, found)
            yield
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
