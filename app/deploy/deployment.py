"""One deployment: its names, addresses, settings and secrets, from the settings and the study at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from app.config.settings import Settings, env_name
from app.deploy.targets import TARGETS, Target
from app.errors import SettingsError
from app.studies.loader import STUDIES, find
from app.studies.server_names import named_servers
from experiments.study.study import Study

Kind = Literal["sqlite", "postgresql"]
NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
"""A name that every host takes: a DNS label, and not a long one."""
STUDY_FILE = "study/study.yaml"
"""The study, from the folder in which Parley runs."""
PORT, INNER_PORT, INNER_CONSOLE_PORT = 7860, 8001, 8002
"""The one port of a container, and where Parley listens behind it."""
PRIVATE_NETWORKS = "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"
LOCAL = (
    "database_url", "host", "port", "public_url", "console_port", "console_url", "trusted_proxies", "replay_dir",
    "studies_dir", "metrics_port", "metrics_host", "model_servers",
)  # fmt: skip
"""Settings of this machine, which are others there."""
KEYS = ("openai_api_key", "anthropic_api_key")
PERSONAL = ("alert_mail_to", "alert_mail_from", "smtp_user")
"""Settings with people's addresses, which are handed over as secrets are."""


class Secret(NamedTuple):
    """A variable whose value is in no file of the folder, and what it is."""

    name: str
    what: str


@dataclass(frozen=True)
class HostFolder:
    """What the templates of a host are filled with."""

    target: str
    name: str
    title: str
    url: str
    console_url: str
    database: Kind
    port: int
    settings: Mapping[str, str]
    """The variables that anybody may read, in order."""
    secrets: tuple[Secret, ...]
    study: str
    """The study that is served from the start: its file in the folder, or its name; empty if there is none."""
    study_name: str
    own_study: str
    """The study's file on this machine; empty if there is none, or if the study comes with Parley."""
    version: str
    image: str

    @property
    def host(self) -> Target:
        """The host."""
        return TARGETS[self.target]

    @property
    def domain(self) -> str:
        """The host name of the participants' address."""
        return urlsplit(self.url).netloc

    @property
    def path(self) -> str:
        """The path of the participants' address, such as `/study`; empty at the root."""
        return urlsplit(self.url).path

    @property
    def console_domain(self) -> str:
        """The host name of the console's address."""
        return urlsplit(self.console_url).netloc

    @property
    def console_path(self) -> str:
        """The path of the console's address; empty at the root."""
        return urlsplit(self.console_url).path

    @property
    def inner_port(self) -> int:
        """Where the participants' server listens."""
        return INNER_PORT if self.host.gateway else self.port

    @property
    def inner_console_port(self) -> int:
        """Where the console listens."""
        return INNER_CONSOLE_PORT if self.host.gateway else int(self.settings[env_name("console_port")])

    @property
    def litestream(self) -> bool:
        """Whether Litestream copies the database away, because the disk is lost."""
        return self.database == "sqlite" and not self.host.keeps_disk


def plan(
    target: str,
    settings: Settings,
    study: Study | None = None,
    named: str = "",
    *,
    database: Kind,
    version: str,
    name: str = "",
    image: str = "",
) -> HostFolder:
    """The deployment on a host, of a study as it was `named` on the command line; raises SettingsError."""
    host = TARGETS[target]
    name = name or _slug(study.name if study else "parley")
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"--name {name!r}: allowed are at most 40 small letters, digits and hyphens, with a letter first"
        )
    own = named if named and find(named).parent != STUDIES else ""
    url = _address(target, host, name, settings)
    parts = urlsplit(url)
    console_url = (settings.console_url or urlunsplit((*parts[:2], "/console", "", ""))).rstrip("/")
    if console_url == url:
        raise SettingsError(f"Participants and the console cannot both be at {url}: set {env_name('console_url')}")
    return HostFolder(
        target=target,
        name=name,
        title=study.file.title if study else "Parley",
        url=url,
        console_url=console_url,
        database=database,
        port=settings.port or PORT,
        settings=_fixed(target, settings, database, url, console_url) | dict(_carried(settings)),
        secrets=tuple(_secrets(host, settings, study, database)),
        study=(STUDY_FILE if host.private_files else "") if own else named,
        study_name=study.name if study else "",
        own_study=own,
        version=version,
        image=image or f"registry.example.org/{name}",
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].rstrip("-")


def _address(target: str, host: Target, name: str, settings: Settings) -> str:
    found = settings.public_url or host.url.format(name=name)
    if not found:
        example = f"https://OWNER-{name}.hf.space" if target == "huggingface" else "https://study.example.org"
        raise SettingsError(
            f"Where will participants find it? Say it by --url {example} or {env_name('public_url')}: links, cookies "
            "and the proxy depend on it"
        )
    if not found.startswith("https://"):
        raise SettingsError(f"{found}: must start with https://, as people's answers go there. {host.title} has TLS")
    return found.rstrip("/")


def _fixed(target: str, settings: Settings, database: Kind, url: str, console_url: str) -> dict[str, str]:
    """What follows from the host."""
    host = TARGETS[target]
    container = target != "server"
    inner = (INNER_PORT, INNER_CONSOLE_PORT) if host.gateway else (settings.port or PORT, settings.console_port or 7861)
    proxies = (settings.trusted_proxies or PRIVATE_NETWORKS) if target == "kubernetes" else "127.0.0.1"
    found = {
        "public_url": url,
        "console_url": console_url,
        "host": "0.0.0.0" if target == "kubernetes" else "127.0.0.1",  # noqa: S104  (of a container)
        "port": str(inner[0]),
        "console_port": str(inner[1]),
        "trusted_proxies": proxies,
        "studies_dir": "/data/studies" if container else "/srv/parley/studies",
    }
    if database == "sqlite":
        found["database_url"] = f"sqlite:////{'data' if container else 'srv/parley'}/parley.db"
    port = {"PORT": str(settings.port or PORT)} if target == "render" else {}  # the host's own variable
    return {env_name(field): value for field, value in found.items()} | port


def _carried(settings: Settings) -> Iterator[tuple[str, str]]:
    """The settings in force that are not the default, no secrets, and not of this machine."""
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        mine = name in LOCAL or name in PERSONAL or isinstance(value, SecretStr)
        if not mine and value != field.default and not (name == "prolific_jwks" and "://" not in value):
            yield env_name(name), str(value)


def _secrets(host: Target, settings: Settings, study: Study | None, database: Kind) -> Iterator[Secret]:
    """What has to be set at the host by hand."""
    yield Secret(env_name("secret"), "signs cookies, seals recruiters' ids. Keep a copy apart from the data")
    if database == "postgresql" and not host.gives_postgresql:
        yield Secret(env_name("database_url"), "`postgresql://USER:PASSWORD@HOST/NAME`")
    if database == "sqlite" and not host.keeps_disk:
        yield Secret("REPLICA_URL", "where Litestream keeps the database: `s3://BUCKET/parley`")
        yield Secret("AWS_ACCESS_KEY_ID", "the key of that store")
        yield Secret("AWS_SECRET_ACCESS_KEY", "the secret of that key")
    models = study.file.models.values() if study else ()
    needed = {f"{model.backend}_api_key" for model in models if not model.server}
    for name in KEYS:
        if name in needed or getattr(settings, name) is not None:
            yield Secret(env_name(name), _described(name))
    servers = sorted({*settings.model_servers, *(named_servers(study).values() if study else ())})
    if servers:
        yield Secret(env_name("model_servers"), f"JSON with {', '.join(servers)}, on one line")
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if name not in ("secret", *KEYS) and (isinstance(value, SecretStr) or (name in PERSONAL and value)):
            yield Secret(env_name(name), _described(name))


def _described(name: str) -> str:
    return (Settings.model_fields[name].description or "").partition(". ")[0].rstrip(".")
