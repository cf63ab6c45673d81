"""The files of a deployment say what they must, and each host's own check accepts its folder where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from app.cli import app
from app.config.settings import Settings
from app.studies.yaml_loader import parse_yaml
from app.web.participant.session_cookie import SessionCookie
from tests.fakes.nginx import for_host
from tests.fakes.served import SECRET

ROOT = Path(__file__).parents[2]
NGINX = ROOT / "deploy/nginx.conf"
COMPOSE = parse_yaml((ROOT / "compose.yaml").read_text(encoding="utf-8")).value
SERVICES = COMPOSE["services"]
OURS = ("migrate", "server", "console")
LISTENING = (ROOT / "app/cli/http_server.py").read_text(encoding="utf-8")


def said(directive: str) -> str:
    """Return the value of a directive of nginx, wherever it stands once."""
    (found,) = re.findall(rf"^ *{re.escape(directive)} +(.*?);", NGINX.read_text(encoding="utf-8"), re.M)
    return found


def test_nginx_streams_replies_sends_nothing_twice_and_closes_idle_connections_before_parley_does() -> None:
    assert said("proxy_buffering") == "off"
    assert int(said("proxy_read_timeout").rstrip("s")) > Settings.model_fields["reply_timeout_s"].default
    ours = int(re.search(r"timeout_keep_alive=(\d+)", LISTENING)[1])
    assert int(said("keepalive_timeout").rstrip("s")) < ours
    assert said("proxy_set_header Connection") == '""'
    assert said("proxy_set_header Host") == "$http_host"
    assert "non_idempotent" not in said("proxy_next_upstream")


def test_nginx_keeps_a_session_to_a_server_by_its_cookie_and_by_no_address() -> None:
    assert said("hash") == "$whose consistent"
    (pattern,) = re.findall(r'map \$http_cookie \$whose \{[^"]*"~(.*?)" \$signed;', NGINX.read_text(encoding="utf-8"))
    whose = re.compile(pattern.replace("(?<", "(?P<"))
    for name in (SessionCookie(SECRET, secure=s, path=p).name for s in (False, True) for p in ("/", "/study")):
        for cookies in (f"{name}=mine", f"other=1; {name}=mine", f"{name}-short=old; {name}=mine; other=1"):
            assert whose.search(cookies)["signed"] == "mine"
        assert whose.search(f"{name}-short=old; un{name}=older") is None


def gateways() -> list[str]:
    """From where a program of the machine comes that asks at a published port."""
    return [network["ipam"]["config"][0]["gateway"] for network in COMPOSE["networks"].values()]


def test_only_what_asks_from_the_machine_itself_is_believed() -> None:
    assert re.findall(r"^ *set_real_ip_from (\S+);", NGINX.read_text(encoding="utf-8"), re.M) == gateways()
    mine = re.sub(r"#.*", "", for_host())
    assert not re.search(r"set_real_ip_from|real_ip_header|resolver|8080", mine)


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


# Each host's own check, in the folder of its files.
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
