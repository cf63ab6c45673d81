"""What the documents are made from: the study, and who receives what by the settings. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from app.backends import registry as backends
from app.config.settings import Settings
from app.documents.block import BulletList, DocumentBlock, Heading, Paragraph
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.privacy import Operator, PrivacyInfo
from experiments.study.study import Study
from storage.db.database_url import redact_password, sqlite_path

HERE = "this machine"
NOT_STATED = "Not stated"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that models of the study are requested from. `host` is empty if the settings do not have it."""

    name: str
    host: str
    models: tuple[str, ...]
    annotators: tuple[str, ...]
    operator: Operator


@dataclass(frozen=True, slots=True)
class PrivacyFacts:
    """A study with what the deployment adds. `minutes` is the median of simulated participants; None if not known."""

    study: Study
    servers: tuple[ModelServer, ...]
    alerts: tuple[str, ...]
    database: str
    encrypted: bool
    """Whether participants' address is an https address."""
    minutes: float | None
    made_us: int
    parley: str

    @property
    def info(self) -> PrivacyInfo:
        """What the study says for these documents."""
        return self.study.file.privacy or PrivacyInfo()


def missing(key: str) -> str:
    """What stands in place of what the study does not say."""
    return f"{NOT_STATED}: write it here, or into the study file ({key})."


def stated(text: str | None, key: str) -> str:
    """A text of the study's, or that it is missing."""
    return text or missing(key)


def listed(texts: Sequence[str], key: str) -> BulletList:
    """Texts of the study's as a list, or that they are missing."""
    return bullets(texts or (missing(key),))


def bullets(texts: Sequence[str]) -> BulletList:
    """A list of texts."""
    return BulletList(tuple((text, "") for text in texts))


def gather(study: Study, settings: Settings, minutes: float | None, made_us: int, parley: str) -> PrivacyFacts:
    """The facts of a study under these settings."""
    file = sqlite_path(settings.database_url)
    alerts = (
        [f"the webhook at {urlsplit(hook.get_secret_value()).hostname}"] if (hook := settings.alert_webhook_url) else []
    )
    alerts += [f"mail to {settings.alert_mail_to} by {settings.smtp_host}"] if settings.alert_mail_to else []
    return PrivacyFacts(
        study,
        tuple(_servers(study, settings)),
        tuple(alerts),
        f"an SQLite file on {HERE}"
        if file is not None
        else f"PostgreSQL at {_host(redact_password(settings.database_url))}",
        settings.address.startswith("https://"),
        minutes,
        made_us,
        parley,
    )


def opening(facts: PrivacyFacts, title: str, about: str) -> Iterator[DocumentBlock]:
    """The heading of a document, what it is made of, and which version of which study it is about."""
    study = facts.study
    yield Heading(1, f"{title}: {study.file.title}")
    yield Paragraph(about)
    made = f"{datetime.fromtimestamp(facts.made_us / 1e6, UTC):%Y-%m-%d}"
    yield bullets(
        (
            f"Study: {study.name}, version {study.file.version}",
            f"Hash of this version: {study.hash}",
            f"Date: {made}, by Parley {facts.parley}",
        )
    )
    yield Paragraph(
        "This is a draft, made from the study file and the settings of the machine on which it was made. It is no "
        'legal advice. Whatever is called "Not stated" has to be written by those who are responsible for the study.',
        loud=True,
    )


def _servers(study: Study, settings: Settings) -> Iterator[ModelServer]:
    models: dict[str, list[str]] = {}
    for name, spec in study.file.models.items():
        if backends.asks_servers(spec.backend):
            models.setdefault(spec.server or spec.backend, []).append(name)
    annotators: dict[str, list[str]] = {}
    for name, annotator in (study.file.annotators or {}).items():
        if server := _annotators_server(annotator.model, study.file.models):
            annotators.setdefault(server, []).append(name)
    known = study.file.privacy.model_servers if study.file.privacy else {}
    for name in dict.fromkeys((*models, *annotators)):
        used = tuple(models.get(name, ())), tuple(annotators.get(name, ()))
        yield ModelServer(name, _server_host(name, settings), *used, known.get(name, Operator()))


def _annotators_server(model: str, models: dict[str, ModelSpec]) -> str:
    """The server of an annotator's model: that of a model of the study, or `backend:name@server`."""
    if spec := models.get(model):
        return (spec.server or spec.backend) if backends.asks_servers(spec.backend) else ""
    backend, _, rest = model.partition(":")
    server = rest.rpartition("@")[2] if "@" in rest else backend
    return server if rest and backends.asks_servers(backend) else ""


def _server_host(name: str, settings: Settings) -> str:
    own = {"openai": settings.openai_base_url, "anthropic": settings.anthropic_base_url}
    server = settings.find_server(name)
    return _host(server.url if server else own.get(name) or "")


def _host(url: str) -> str:
    host = urlsplit(url).hostname or ""
    try:
        return HERE if host == "localhost" or ip_address(host).is_loopback else host
    except ValueError:
        return host
