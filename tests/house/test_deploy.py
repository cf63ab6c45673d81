"""The files of a deployment say what they must, and each host's own check accepts its folder where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from app.cli import app
from app.config.settings import Settings
from app.studies.yaml_loader import parse_yaml
from app.web.participant.session_cookie import SessionCookie
from app.web.redaction import WITH_TOKEN
from app.web.security import MOST_BODY
from tests.fakes.nginx import for_host
from tests.fakes.served import SECRET

ROOT = Path(__file__).parents[2]
NGINX = ROOT / "deploy/nginx.conf"
COMPOSE = parse_yaml((ROOT / "compose.yaml").read_text(encoding="utf-8")).value
SERVICES = COMPOSE["services"]
OURS = ("migrate", "server", "console")
LISTENING = (ROOT / "app/cli/http_server.py").read_text(encoding="utf-8")
TOKEN = re.compile(r"""#[^\n]*|'[^']*'|"[^"]*"|[{};]|[^\s{};]+""")


def directives(words: Iterator[str]) -> list[tuple[Any, ...]]:
    """nginx's own syntax: each directive's words, and the block behind it, if it has one."""
    found, words_here = [], []
    for word in words:
        match word:
            case ";":
                found.append((*words_here, None))
                words_here = []
            case "{":
                found.append((*words_here, directives(words)))
                words_here = []
            case "}":
                assert not words_here, f"no semicolon after {words_here}"
                return found
            case _:
                words_here.append(word)
    assert not words_here, f"no semicolon after {words_here}"
    return found


@pytest.fixture(scope="module")
def http() -> list[tuple[Any, ...]]:
    text = NGINX.read_text(encoding="utf-8")
    assert text.count("{") == text.count("}")
    return block(directives(word for word in TOKEN.findall(text) if not word.startswith("#")), "http")


def block(where: list[tuple[Any, ...]], *words: str) -> list[tuple[Any, ...]]:
    (found,) = (one[-1] for one in where if one[:-1] == words)
    return found


def value(where: list[tuple[Any, ...]], *name: str) -> str:
    (found,) = (" ".join(one[len(name) : -1]) for one in where if one[: len(name)] == name)
    return found


def test_nginx_streams_replies_and_closes_idle_connections_before_parley_does(http: list[tuple[Any, ...]]) -> None:
    server = block(http, "server")
    reply = block(server, "location", "~", "^/api/(act|reply)$")
    assert value(reply, "proxy_buffering") == "off"
    assert int(value(reply, "proxy_read_timeout").rstrip("s")) > Settings.model_fields["reply_timeout_s"].default
    ours = int(re.search(r"timeout_keep_alive=(\d+)", LISTENING)[1])
    assert int(value(block(http, "upstream", "parley"), "keepalive_timeout").rstrip("s")) < ours
    assert value(http, "proxy_http_version") == "1.1"
    assert value(http, "proxy_set_header", "Connection") == '""'
    assert value(http, "proxy_set_header", "Host") == "$http_host"
    assert int(value(http, "client_max_body_size").rstrip("k")) * 1024 >= MOST_BODY


def test_the_guide_has_the_sizes_of_bodies(http: list[tuple[Any, ...]]) -> None:
    guide = " ".join((ROOT / "docs/operator.md").read_text(encoding="utf-8").split())
    assert f"| a request's body | {MOST_BODY // 1024} kB;" in guide
    assert f"bodies to {value(http, 'client_max_body_size').rstrip('k')} kB" in guide


def test_nginx_keeps_a_session_to_a_server_by_its_cookie_and_by_no_address(http: list[tuple[Any, ...]]) -> None:
    upstream = block(http, "upstream", "parley")
    assert value(upstream, "hash") == "$whose consistent"
    assert not {"ip_hash", "sticky"} & {one[0] for one in upstream}
    names = [one[0] for one in upstream]
    assert names.index("hash") < names.index("keepalive"), "nginx wants it so"
    named = block(http, "map", "$http_cookie", "$whose")
    assert value(named, "default") == "$request_id", "who has no session goes to any"
    ((pattern, signed, _),) = (one for one in named if one[0] != "default")
    assert signed == "$signed"
    whose = re.compile(pattern.strip('"').removeprefix("~").replace("(?<", "(?P<"))
    for name in (SessionCookie(SECRET, secure=s, path=p).name for s in (False, True) for p in ("/", "/study")):
        for cookies in (f"{name}=mine", f"other=1; {name}=mine", f"{name}-short=old; {name}=mine; other=1"):
            assert whose.search(cookies)["signed"] == "mine"
        assert whose.search(f"{name}-short=old; un{name}=older") is None


def test_nginx_sends_nothing_twice_and_hides_health(http: list[tuple[Any, ...]]) -> None:
    assert "non_idempotent" not in value(http, "proxy_next_upstream")
    assert value(block(block(http, "server"), "location", "/healthz"), "return") == "404"
    assert value(http, "proxy_set_header", "X-Forwarded-For") == "$remote_addr"
    assert value(http, "access_log") == "off"
    (hidden,) = (one[0] for one in block(http, "map", "$uri", "$place") if one[0] != "default")
    assert set(re.search(r"<first>([\w|]+)\)", hidden)[1].split("|")) == set(WITH_TOKEN)


def gateways() -> list[str]:
    """From where a program of the machine comes that asks at a published port."""
    return [network["ipam"]["config"][0]["gateway"] for network in COMPOSE["networks"].values()]


def test_only_what_asks_from_the_machine_itself_is_believed(http: list[tuple[Any, ...]]) -> None:
    assert [one[1] for one in http if one[0] == "set_real_ip_from"] == gateways()
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    mine = [word for word in TOKEN.findall(for_host()) if not word.startswith("#")]
    assert not {"set_real_ip_from", "real_ip_header", "resolver", "8080"} & {*mine}


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here")
def test_nginx_itself_takes_the_file(tmp_path: Path) -> None:
    text = NGINX.read_text(encoding="utf-8").replace("server:7860 resolve", "127.0.0.1:7860")
    (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
    done = subprocess.run(["nginx", "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_starts_before_the_database_is_migrated() -> None:
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    for name in ("server", "console"):
        assert SERVICES[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert SERVICES["nginx"]["depends_on"] == {"server": {"condition": "service_healthy"}}


@pytest.mark.parametrize("name", [*OURS, "nginx"])
def test_whoever_breaks_in_finds_little(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].split(":")[0] not in ("0", "root")
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_only_nginx_is_believed_about_addresses_and_only_settings_are_set() -> None:
    inside, outer = SERVICES["nginx"]["networks"]["inside"], ",".join(gateways())
    for name in OURS:
        environment = SERVICES[name]["environment"]
        assert environment["PARLEY_TRUSTED_PROXIES"] == (outer if name == "console" else inside["ipv4_address"])
        assert {key.removeprefix("PARLEY_").lower() for key in environment} <= set(Settings.model_fields)
        assert environment["PARLEY_DATABASE_URL"].startswith("postgresql+psycopg://")
        assert environment["PARLEY_SECRET"].startswith("${PARLEY_SECRET:?"), "no secret stands in the file"


def test_every_command_is_one_of_parleys() -> None:
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    for name in OURS:
        parley, *words = SERVICES[name]["command"]
        assert parley == "parley"
        if words[0] in groups:
            assert words[1] in {command.name for command in groups[words[0]].registered_commands}
        else:
            assert words[0] in commands


CHECKS = {
    "compose": ["docker", "compose", "--file", "compose.yaml", "config", "--quiet"],
    "systemd": ["systemd-analyze", "verify", "--man=no", "parley.service", "parley-console.service",
                "parley-backup.service", "parley-backup.timer"],
    "systemd/Caddyfile": ["caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile"],
    "huggingface/Caddyfile": ["caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile"],
    "huggingface/litestream.yml": ["litestream", "databases", "-config", "litestream.yml"],
    "huggingface/start.sh": ["bash", "-n", "start.sh"],
    "kubernetes": ["kubectl", "kustomize", "."],
}  # fmt: skip
"""Each host's own check, in the folder of its files."""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_a_hosts_own_check_accepts_its_folder(name: str, tmp_path: Path) -> None:
    folder = ROOT if name == "compose" else copied(name.partition("/")[0], tmp_path)
    if name == "kubernetes":
        for file in ("parley.yaml", "migrate.yaml"):
            for one in YAML(typ="safe").load_all((folder / file).read_text(encoding="utf-8")):
                kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)
    program, *words = CHECKS[name]
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "REPLICA_URL": "s3://bucket/parley",
        "POSTGRES_PASSWORD": "p", "PARLEY_SECRET": SECRET,
    }  # fmt: skip
    found = shutil.which(program, path=env["PATH"])
    if found is None or (program == "docker" and subprocess.run([found, "compose", "version"], check=False).returncode):
        pytest.skip(f"{program} is not installed here")
    done = subprocess.run([found, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def copied(name: str, tmp_path: Path) -> Path:
    """A folder of `deploy/`, with a program of this machine in place of Parley's, which systemd looks for."""
    folder = tmp_path / name
    shutil.copytree(ROOT / "deploy" / name, folder)
    for unit in folder.glob("*.service"):
        text = unit.read_text(encoding="utf-8").replace("/opt/parley/.venv/bin/parley", "/bin/true")
        unit.write_text(text, encoding="utf-8")
    return folder
