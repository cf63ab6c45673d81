"""The data-protection document of a study: a template, filled from the study and the settings. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.backends.model_ref import parse_model_ref
from app.backends.registry import asks_servers
from app.config.settings import Settings
from app.extensions.publishing.screens import Arm
from experiments.session.disclosures import disclosures
from experiments.session.telemetry import disclosure
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.sections.privacy import Operator, PrivacyInfo
from experiments.study.study import Study
from experiments.study.template import names
from problems.errors import DISTRIBUTION
from storage.db.database_url import sqlite_path
from storage.reports.person import PARTS

HERE = "this machine"
# So many problems of a pool are in the document.
MOST_PROBLEMS = 50
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (Markdown, no HTML)
)
TEMPLATES.filters |= {
    "cell": lambda text: " ".join(str(text).split()).replace("|", "\\|") or "–",
    "quoted": lambda text: "\n".join(f"> {line}".rstrip() for line in str(text).strip().splitlines()),
    "stated": lambda text, key: text or f"Not stated: write it here, or into the study file ({key}).",
}


def data_protection_document(
    study: Study,
    settings: Settings,
    *,
    minutes: float | None,
    made_us: int,
    arms: Sequence[Arm] = (),
    pictures: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The document in Markdown. `minutes` is the median of simulated participants; `pictures` are the paths of each
    screen's pictures by its name."""
    file, info = study.file, study.file.privacy or PrivacyInfo()
    systems = [model.system for model in file.models.values()]
    texts = [text for one in systems for text in ([one] if isinstance(one, str) else one.pick.values())]
    database, channels = settings.database_url, file.reminders.channels if file.reminders else ()
    hook = settings.reminder_webhook_url
    hosts = {"mail": settings.mail_host, "webhook": _host(hook.get_secret_value()) if hook else ""}
    return TEMPLATES.get_template("privacy.md.j2").render(
        study=study,
        file=file,
        info=info,
        published=file.dataset or DatasetInfo(),
        hosting=info.hosting or Operator(),
        servers=list(_servers(study, settings)),
        recruiters=[name for name in file.recruitment.channels if name not in ("lab", "open")],
        recipients={one.name: one for one in info.recipients},
        alerts=(hook := settings.alert_webhook_url) and _host(hook.get_secret_value()),
        database=f"an SQLite file on {HERE}" if sqlite_path(database) else f"PostgreSQL at {_host(database)}",
        encrypted=settings.address.startswith("https://"),
        parts={name: about for name, about in PARTS.items() if name != "mail_address" or "mail" in channels},
        reminders=[(name, hosts.get(name, "")) for name in channels if name != "prolific"],
        telemetry=disclosure(study),
        disclosures=disclosures(study),
        talks=any(step.asks_models(tuple(file.models)) for _, step in study.steps),
        prompt_values=list(dict.fromkeys(name for text in texts for name in names(text))),
        most_problems=MOST_PROBLEMS,
        minutes=minutes,
        date=f"{datetime.fromtimestamp(made_us / 1e6, UTC):%Y-%m-%d}",
        parley=version(DISTRIBUTION),
        arms=arms,
        pictures=pictures or {},
    )


def _servers(study: Study, settings: Settings) -> Iterator[dict[str, Any]]:
    used: dict[str, dict[str, list[str]]] = {}
    annotators = {name: one.model for name, one in (study.file.annotators or {}).items() if one.model}
    for kind, models in (("models", {name: name for name in study.file.models}), ("annotators", annotators)):
        for name, model in models.items():
            spec = parse_model_ref(study, model).model
            if asks_servers(spec.backend):
                used.setdefault(spec.server or spec.backend, {"models": [], "annotators": []})[kind].append(name)
    known = study.file.privacy.model_servers if study.file.privacy else {}
    own = {"openai": settings.openai_base_url, "anthropic": settings.anthropic_base_url, "llama": "http://localhost"}
    for name, by in used.items():
        server = settings.find_server(name)
        host = _host(server.url if server else own.get(name) or "")
        yield {"name": name, "host": host, **by, "operator": known.get(name, Operator())}


def _host(url: str) -> str:
    host = urlsplit(url).hostname or ""
    try:
        return HERE if host == "localhost" or ip_address(host).is_loopback else host
    except ValueError:
        return host
