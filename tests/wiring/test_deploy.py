"""`parley deploy`: each host's folder is complete, valid by the validators of others, and without a secret; and what is
in it runs on this machine, restarts included."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from app.cli import deploy
from app.config.settings import Settings, env_name
from app.deploy.deployment import PORT, HostFolder, plan
from app.deploy.folder import render, write
from app.deploy.package import ROOT, Package
from app.deploy.study_files import files_of
from app.deploy.targets import TARGETS
from app.studies.loader import find, load_study
from experiments.errors import StudyError
from tests.fakes import studies
from tests.fakes.commanding import parley
from tests.fakes.served import SECRET
from tests.house.docker_dry_run import instructions

BIN = Path(sys.executable).parent
URL = "https://study.example.org"
SECRETS = {
    "secret": SECRET,
    "database_url": "postgresql://parley:canary-database@db.example.org/parley",
    "openai_api_key": "sk-canary-openai-1234",
    "model_servers": {"lab": {"url": "https://gpu.example.org/v1", "key": "sk-canary-lab-1234"}},
    "alert_webhook_url": "https://hooks.example.org/canary-webhook",
    "alert_mail_to": "canary@example.org",
    "smtp_password": "canary-smtp",
}
each_host = pytest.mark.parametrize("target", [*TARGETS])
each_database = pytest.mark.parametrize("database", ["sqlite", "postgresql"])


def planned(
    target: str, database: Any, settings: Settings | None = None, study: str = "demo", **more: Any
) -> HostFolder:
    """The deployment of a study, at an address of its own."""
    given = settings or Settings(_env_file=None, public_url=URL)
    return plan(target, given, load_study(study), study, database=database, version="0.1.0", **more)


def written(folder: Path, deployment: HostFolder) -> Path:
    """Its folder, with an own study's files, and names in place of wheel and pins."""
    texts = {name: text.encode() for name, text in render(deployment, "parley_studies-0.1.0-py3-none-any.whl").items()}
    own = files_of(find(deployment.own_study)) if deployment.own_study and deployment.host.private_files else {}
    write(folder, texts | {f"study/{name}": content for name, content in own.items()})
    return folder


def documents(file: Path) -> list[Any]:
    """The documents of a YAML file."""
    return [one for one in YAML(typ="safe").load_all(file.read_text(encoding="utf-8")) if one]


def run(*words: str | Path, folder: Path, **env: str) -> str:
    """What a program says of what it accepts."""
    environ = {**os.environ, **env}
    done = subprocess.run([*map(str, words)], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def settings_in(folder: Path, target: str) -> Mapping[str, str]:
    """The variables that the host gets from the folder."""
    match target:
        case "huggingface":
            texts = [text for word, text in instructions((folder / "Dockerfile").read_text()) if word == "ENV"]
            pairs = [text.partition("=") for text in texts if text.startswith("PARLEY_")]
            return {name: value.strip('"') for name, _, value in pairs}
        case "fly":
            return tomllib.loads((folder / "fly.toml").read_text())["env"]
        case "render":
            variables = documents(folder / "render.yaml")[0]["services"][0]["envVars"]
            return {one["key"]: one["value"] for one in variables if "value" in one}
        case "server":
            lines = (folder / "parley.env").read_text().splitlines()
            return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines) if value}
        case _:
            return documents(folder / "base/configmap.yaml")[0]["data"]


# ---- Each host's own files


def huggingface(folder: Path, deployment: HostFolder) -> None:
    """https://huggingface.co/docs/hub/spaces-config-reference"""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    _, header, text = readme.split("---\n", 2)
    found = YAML(typ="safe").load(header)
    assert (found["sdk"], found["app_port"]) == ("docker", PORT)
    assert {found["colorFrom"], found["colorTo"]} <= {
        "red",
        "yellow",
        "green",
        "blue",
        "indigo",
        "purple",
        "pink",
        "gray",
    }
    assert set(found) <= {"title", "emoji", "colorFrom", "colorTo", "sdk", "app_port", "pinned"}
    assert "**Its disk is lost.**" in text
    assert "--repo-type space" in text
    assert (folder / "litestream.yml").exists() == (deployment.database == "sqlite")
    if deployment.litestream:
        databases = (BIN / "litestream", "databases", "-config", "litestream.yml")
        assert "/data/parley.db" in run(*databases, folder=folder, REPLICA_URL="s3://bucket/parley")
    steps = instructions((folder / "Dockerfile").read_text(encoding="utf-8"))
    assert (
        "RUN",
        "useradd --uid 1000 --create-home parley && install -d -o parley -g parley -m 700 /data /srv/parley",
    ) in steps
    assert ("USER", "parley") in steps


def fly(folder: Path, deployment: HostFolder) -> None:
    """https://fly.io/docs/reference/configuration/"""
    found = tomllib.loads((folder / "fly.toml").read_text(encoding="utf-8"))
    assert set(found) == {
        "app", "primary_region", "kill_signal", "kill_timeout", "build", "env", "deploy", "mounts", "http_service", "vm"
    }  # fmt: skip
    service = found["http_service"]
    assert (service["internal_port"], service["force_https"]) == (PORT, True)
    assert (service["auto_stop_machines"], service["min_machines_running"]) == ("off", 1)
    assert [check["path"] for check in service["checks"]] == ["/healthz/ready"]
    assert found["mounts"]["destination"] == "/data"
    assert found["kill_signal"] == "SIGTERM"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "fly deploy --ha=false" in readme
    assert "fly secrets import --stage < secrets.env" in readme


def on_render(folder: Path, deployment: HostFolder) -> None:
    """https://render.com/docs/blueprint-spec"""
    (found,) = documents(folder / "render.yaml")
    assert set(found) == {"services"} | ({"databases"} if deployment.database == "postgresql" else set())
    (service,) = found["services"]
    assert set(service) == {
        "type", "name", "runtime", "plan", "numInstances", "dockerfilePath", "healthCheckPath", "disk", "envVars"
    }  # fmt: skip
    assert (service["type"], service["runtime"], service["numInstances"]) == ("web", "docker", 1)
    assert service["disk"] == {"name": "data", "mountPath": "/data", "sizeGB": 5}
    sources = {"value", "sync", "generateValue", "fromDatabase"}
    assert all(len(sources & set(one)) == 1 and len(one) == 2 for one in service["envVars"])
    by_name = {one["key"]: one for one in service["envVars"]}
    assert len(by_name) == len(service["envVars"])
    assert by_name["PORT"]["value"] == str(PORT)
    for secret in deployment.secrets:
        assert secret.name == env_name("secret") or by_name[secret.name] == {"key": secret.name, "sync": False}
    if deployment.database == "postgresql":
        (there,) = found["databases"]
        assert by_name["PARLEY_DATABASE_URL"]["fromDatabase"] == {"name": there["name"], "property": "connectionString"}
        assert (set(there), there["ipAllowList"]) == ({"name", "plan", "postgresMajorVersion", "ipAllowList"}, [])


def server(folder: Path, deployment: HostFolder) -> None:
    """By systemd's own check, with a program that is here in place of those that are there."""
    units = sorted(path.name for path in folder.glob("parley*.*") if path.suffix in (".service", ".timer"))
    backups = ["parley-backup.service", "parley-backup.timer"] if deployment.database == "sqlite" else []
    assert units == [*backups, "parley-console.service", "parley.service"]
    parley_ = (folder / "parley.service").read_text(encoding="utf-8")
    assert f"ExecStart=/opt/parley/bin/parley serve {deployment.study}\n" in parley_
    assert "ExecStart=/opt/parley/bin/parley console\n" in (folder / "parley-console.service").read_text(
        encoding="utf-8"
    )
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for name in units:
        unit = folder / name
        unit.write_text(
            unit.read_text(encoding="utf-8").replace("/opt/parley/bin/parley", "/bin/true"), encoding="utf-8"
        )
    run("systemd-analyze", "verify", "--man=no", *(folder / name for name in units), folder=folder)
    told = run(
        "systemd-analyze", "security", "--offline=true", "--threshold=20", folder / "parley.service", folder=folder
    )
    assert "Overall exposure level" in told


def kubernetes(folder: Path, deployment: HostFolder) -> None:
    """By the schemas of Kubernetes, strictly; and by Kustomize, where there is kubectl."""
    base = folder / "base"
    (kustomization,) = documents(base / "kustomization.yaml")
    assert sorted(kustomization["resources"]) == sorted({path.name for path in base.iterdir()} - {"kustomization.yaml"})
    objects = [one for name in kustomization["resources"] for one in documents(base / name)]
    objects += documents(folder / "migrate.yaml")
    for one in objects:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)
    pods = [one for one in objects if one["kind"] == "Deployment"]
    assert [pod["spec"]["strategy"] for pod in pods] == [{"type": "Recreate"}] * len(pods)
    replicas = {pod["metadata"]["name"].removeprefix(deployment.name): pod["spec"]["replicas"] for pod in pods}
    assert replicas == ({"": 1} if deployment.database == "sqlite" else {"-participants": 2, "-console": 1})
    ports = {
        (pod["metadata"]["name"], port["name"])
        for pod in pods
        for port in pod["spec"]["template"]["spec"]["containers"][0]["ports"]
    }
    for one in objects:
        if one["kind"] == "Service":
            (port,) = one["spec"]["ports"]
            assert (one["spec"]["selector"]["app.kubernetes.io/name"], port["targetPort"]) in ports
    if shutil.which("kubectl"):
        built = YAML(typ="safe").load_all(run("kubectl", "kustomize", base, folder=folder))
        images = {
            c["image"]
            for one in built
            if one["kind"] == "Deployment"
            for c in one["spec"]["template"]["spec"]["containers"]
        }
        assert images == {f"{deployment.image}:0.1.0"}


OF_HOST: Mapping[str, Callable[[Path, HostFolder], None]] = {
    "huggingface": huggingface, "fly": fly, "render": on_render, "server": server, "kubernetes": kubernetes
}  # fmt: skip


@each_database
@each_host
def test_each_hosts_files_are_what_it_takes(target: str, database: Any, tmp_path: Path) -> None:
    deployment = planned(target, database)
    OF_HOST[target](written(tmp_path / "out", deployment), deployment)


@each_database
@each_host
def test_the_settings_of_a_folder_are_settings_and_lead_where_the_proxy_leads(
    target: str, database: Any, tmp_path: Path
) -> None:
    deployment = planned(target, database)
    folder = written(tmp_path / "out", deployment)
    found = settings_in(folder, target)
    assert found == dict(deployment.settings)
    ours = {name.removeprefix("PARLEY_").lower(): value for name, value in found.items() if name != "PORT"}
    settings = Settings(_env_file=None, **ours)
    assert (settings.address, settings.console_address) == (URL, f"{URL}/console")
    listed = {secret.name for secret in deployment.secrets}
    from_host = database == "postgresql" and target == "render"
    assert ("PARLEY_DATABASE_URL" in {*found, *listed}) != from_host
    assert ("PARLEY_DATABASE_URL" in found) == (database == "sqlite")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for name in listed:
        assert f"`{name}`" in readme
    assert f"{URL}/s/demo" in readme
    assert "Not tried there" in readme
    if (folder / "Caddyfile").exists():
        caddy = (folder / "Caddyfile").read_text(encoding="utf-8")
        assert {int(port) for port in re.findall(r"reverse_proxy 127\.0\.0\.1:(\d+)", caddy)} == {
            settings.port, settings.console_port
        }  # fmt: skip
        assert "Valid configuration" in run(
            BIN / "caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile", folder=folder
        )
        assert run(BIN / "caddy", "fmt", "Caddyfile", folder=folder) == caddy
    if (folder / "start.sh").exists():
        run("bash", "-n", "start.sh", folder=folder)


@each_host
def test_a_container_copies_what_is_there_and_ends_without_rights(target: str, tmp_path: Path) -> None:
    own = studies.chat(tmp_path)
    folder = written(tmp_path / "out", planned(target, "sqlite", study=str(own)))
    if not (folder / "Dockerfile").exists():
        return
    sent = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()
    steps = instructions((folder / "Dockerfile").read_text(encoding="utf-8"))
    made_by_build = {"requirements.lock", "parley_studies-0.1.0-py3-none-any.whl"}
    for word, text in steps:
        if word == "COPY" and "--from" not in text:
            for source in text.split()[:-1]:
                assert source in made_by_build or (folder / source).exists()
                assert f"!{source}" in sent or f"!{re.sub(r'-[^-]+-py3.*', '-*.whl', source)}" in sent
    root = "USER" not in [word for word, _ in steps]
    start = (folder / "start.sh").read_text(encoding="utf-8") if (folder / "start.sh").exists() else ""
    assert root == ("setpriv --reuid=parley --regid=parley --init-groups --no-new-privs" in start)


@each_host
def test_no_secret_is_in_a_folder_and_each_is_listed(target: str, tmp_path: Path) -> None:
    settings = Settings(_env_file=None, public_url=URL, messages_per_minute=7, **SECRETS)
    deployment = planned(target, "postgresql", settings)
    folder = written(tmp_path / "out", deployment)
    everything = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    assert "canary" not in everything
    assert SECRET not in everything
    assert deployment.settings["PARLEY_MESSAGES_PER_MINUTE"] == "7"
    listed = {secret.name for secret in deployment.secrets}
    wanted = {env_name(name) for name in SECRETS} - ({"PARLEY_DATABASE_URL"} if target == "render" else set())
    assert listed == wanted


def test_a_public_host_gets_no_study_file_and_the_others_what_the_study_reads(tmp_path: Path) -> None:
    own = studies.chat(tmp_path)
    (own.parent / "export.csv").write_text("participant,answer\n")
    assert not (written(tmp_path / "space", planned("huggingface", "sqlite", study=str(own))) / "study").exists()
    folder = written(tmp_path / "fly", planned("fly", "sqlite", study=str(own)))
    assert load_study(str(folder / "study/study.yaml")).hash == load_study(str(own)).hash
    assert not (folder / "study/export.csv").exists()
    assert "parley up --no-browser study/study.yaml" in (folder / "start.sh").read_text(encoding="utf-8")


def test_a_study_whose_files_cannot_be_found_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my study.csv").write_text("question,answer\nOne and one?,2\nTwo and two?,4\n")
    file = tmp_path / "sums.yaml"
    file.write_text(
        "study: sums\ntitle: t\nproblems: {sums: {source: table, path: my study.csv}}\n"
        "flow:\n  - {each: question, of: sums, take: 1, do: [{step: answer}]}\n  - step: finish\n"
    )
    with pytest.raises(StudyError) as raised:
        files_of(file)
    assert str(file) in str(raised.value)


def test_with_two_host_names_caddy_and_ingress_part_by_them(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, public_url=f"{URL}/lab", console_url="https://console.example.org")
    folder = written(tmp_path / "server", planned("server", "sqlite", settings))
    caddy = (folder / "Caddyfile").read_text(encoding="utf-8")
    assert "\nconsole.example.org {\n" in caddy
    assert "handle /lab* {" in caddy
    run(BIN / "caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile", folder=folder)
    folder = written(tmp_path / "kubernetes", planned("kubernetes", "sqlite", settings))
    (ingress,) = documents(folder / "base/ingress.yaml")
    assert [(rule["host"], [path["path"] for path in rule["http"]["paths"]]) for rule in ingress["spec"]["rules"]] == [
        ("study.example.org", ["/lab"]), ("console.example.org", ["/"])
    ]  # fmt: skip


# ---- The command


TO_FLY = ("deploy", "fly", "demo", "--url", URL)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes."""
    folder = tmp_path_factory.mktemp("deployed")
    done = parley(*TO_FLY, "--into", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_the_command_writes_what_it_shows_before(deployed: Path, tmp_path: Path) -> None:
    shown = parley(*TO_FLY, "--dry-run", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert list(tmp_path.iterdir()) == []
    for path in deployed.iterdir():
        assert f"==> deploy-fly/{path.name}" in shown.stdout
    lock = (deployed / "requirements.lock").read_text(encoding="utf-8")
    assert "\ngradio==" in lock
    assert "\npytest==" not in lock


def test_the_command_overwrites_where_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "build", lambda _: Package("parley_studies-0.1.0-py3-none-any.whl", b"", ""))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/fly.toml").write_text("mine")
    again = parley(*TO_FLY, "--into", "out", folder=tmp_path)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)
    assert (tmp_path / "out/fly.toml").read_text(encoding="utf-8") == "mine"
    assert parley(*TO_FLY, "--into", "out", "--overwrite", folder=tmp_path).returncode == 0
    assert (tmp_path / "out/fly.toml").read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("flyy", "demo"), "Did you mean 'fly'?"),
        (("huggingface", "demo"), "--url https://OWNER-demo.hf.space"),
        (("server", "demo", "--url", "http://study.example.org"), "must start with https://"),
        (("server", "demo", "--url", "study"), "PARLEY_PUBLIC_URL='study'"),
        (("fly", "demo", "--name", "No Name"), "small letters"),
        (("fly", "demo", "--url", URL, "--console-url", URL), "PARLEY_CONSOLE_URL"),
        (("fly", "demo", "--source", "nowhere"), "--source FOLDER"),
        (("fly", "nostudy"), "nostudy"),
    ],
)
def test_what_cannot_be_deployed_is_told(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = parley("deploy", *words, folder=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_wheel_is_all_of_parley(deployed: Path, tmp_path: Path) -> None:
    (wheel,) = deployed.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", "site", wheel)
    run(*pip, folder=tmp_path)
    rooms = ("app", "storage", "experiments", "problems")
    files = [path for room in rooms for path in (ROOT / room).rglob("*") if path.is_file()]
    ours = [path.relative_to(ROOT) for path in files if path.suffix not in (".pyc", ".sha256")]
    ours = [path.relative_to("app") if "parley_studies" in path.parts else path for path in ours]
    assert [path for path in ours if not (tmp_path / "site" / path).exists()] == []
