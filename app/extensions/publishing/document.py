"""The data-protection document of a study: a template, filled from the study and the settings. Nothing is guessed.

The command that writes a study's data-protection and ethics documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.backends.model_ref import parse_model_ref
from app.backends.registry import asks_servers
from app.bots.dry_run import estimate_by_simulation
from app.bots.preview_session import offline
from app.cli.commands import command
from app.cli.common import AnyStudy, any_study, option, settings_in_use, with_saved
from app.cli.printing import echo, progress_bar
from app.clock import SystemClock
from app.config.settings import Settings
from app.errors import SettingsError
from app.extensions.publishing.screens import WIDTHS, Arm, require_playwright, take, walk_every_arm
from experiments.errors import suggestion
from experiments.session.telemetry import disclosure, disclosures
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.sections.privacy import Operator, PrivacyInfo
from experiments.study.study import Study
from experiments.study.texts import names
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
    """The document in Markdown; `minutes` is the median of simulated people, `pictures` are paths by screen."""
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


# How many simulated participants the duration is taken from, and the length of replies, which does not matter here.
SIMULATED, REPLY_TOKENS = 10, 300


@command("privacy")
def privacy(
    study: AnyStudy,
    to: Annotated[Path | None, option("-o --out FOLDER", "The folder for the files. Default: STUDY-privacy.")] = None,
    screenshots: Annotated[bool, option("--screenshots/--no-screenshots", "Take pictures of all screens.")] = True,
    language: Annotated[
        str, option("--language LANGUAGE", "Of the pictures. Default: the study's main language.")
    ] = "",
) -> None:
    """For a record of processing (GDPR Art. 30), those who ask, and an ethics board (IRB)."""
    found = any_study(study)
    if language and language not in found.file.offered:
        raise SettingsError(
            f"--language {language!r}: the study is not in this language{suggestion(language, found.file.offered)}"
        )
    if screenshots:
        require_playwright()
    settings = settings_in_use()
    folder = to or Path(f"{found.name}-privacy")
    folder.mkdir(parents=True, exist_ok=True)
    arms, pictures = _screens(found, language or found.file.language, folder) if screenshots else ((), {})
    minutes = asyncio.run(estimate_by_simulation(found, SIMULATED, REPLY_TOKENS)).typical_minutes
    text = data_protection_document(
        found, with_saved(settings)[0], minutes=minutes, made_us=SystemClock().now_us(), arms=arms, pictures=pictures
    )
    file = folder / "data-protection.md"
    file.write_text(text, encoding="utf-8")
    echo(f'{file}: what is called "Not stated" is for you to write.')


def _screens(study: Study, language: str, folder: Path) -> tuple[Sequence[Arm], dict[str, list[str]]]:
    """The screens of every arm, and their pictures by the screens' names; raises SettingsError without Chromium."""
    own = replace(offline(study), picture_files=study.picture_files)
    arms = asyncio.run(walk_every_arm(own, language))
    into = folder / "screens"
    into.mkdir(exist_ok=True)
    screens = [seen for arm in arms for seen in arm.screens]
    pictures: dict[str, list[str]] = {}
    with progress_bar() as bar:
        task = bar.add_task("Pictures of screens", total=(1 + len(screens)) * len(WIDTHS))
        for name, file in take(own, screens, into, language):
            pictures.setdefault(name, []).append(f"screens/{file.name}")
            bar.advance(task)
    return arms, pictures
