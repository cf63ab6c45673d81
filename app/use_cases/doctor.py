"""Checks of the surroundings of Parley on this machine: each yields findings, with what to do next.

Nothing is changed, no model is called, no mail is sent, and no finding has a secret.
"""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx2
from dotenv.parser import parse_stream

from app.alerts import explained, full_disks
from app.backends.anthropic import ANTHROPIC_URL, headers_for, path_at
from app.backends.openai import OPENAI_URL
from app.backends.registry import configuration_errors, own_server
from app.backends.wire.http_client import client, connection_to
from app.config.model_servers import Server
from app.config.secret import secret_in_use
from app.config.settings import ENV_FILE, Settings, env_name, names_in_use, unknown
from app.errors import ANOTHER_SITE, BackendError, SettingsError
from app.recruiters.prolific import WEBHOOK, Prolific, ProlificStudy, prolific_client, workspaces_of
from app.session.reminders.mail import MailChannel
from app.session.replies.tools import as_specs, asked, differing
from app.studies.drafts import Drafts
from app.use_cases.remind import unsendable_reminders
from experiments.study.checks.lint import possible_codes
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.accounts.audit_log import refuse_other_secret
from storage.db.database_url import redact_password, sqlite_path
from storage.db.engine import Database, open_database, probe
from storage.migrations.migrate import migration_status
from storage.registers.alerts import Alert
from storage.registers.contacts import PROLIFIC
from storage.registers.offered_tools import offered_tools
from storage.registers.studies import Studies

WITHIN_S = 10
PUBLIC, PROXIES = env_name("public_url"), env_name("trusted_proxies")
Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """With a problem something fails; with a warning it may, or data may be worse."""

    level: Level
    what: str
    to_do: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Settings that are valid and know the servers saved in the console, and the studies to be served."""

    settings: Settings
    studies: tuple[Study, ...] = ()
    database: Database | None = None
    """None before the first start."""


def published(database: Database) -> Iterator[Study]:
    """The newest version of each study in the database that this Parley can read."""
    studies = Studies(database)
    for name in studies.names():
        with suppress(ParleyError):
            yield studies.newest(name)


def check_settings(deployment: Deployment) -> Iterator[Diagnosis]:
    file = Path(ENV_FILE)
    if file.exists():
        with file.open(encoding="utf-8") as text:
            for line in parse_stream(text):
                if line.error:
                    what = f"{file}, line {line.original.line}: this line is not understood, and has no effect."
                    yield Diagnosis("problem", what, "Write NAME=value, and close each quotation mark.")
        if os.name != "nt" and stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Diagnosis("warning", f"Other users of this machine can read {file}.", f"chmod 600 {file}")
    for sentence in unknown(names_in_use()):
        what, _, to_do = sentence.partition(". ")
        yield Diagnosis("warning", f"{what.rstrip('.')}.", to_do or "Correct its name, or remove it.")


def check_database(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check that it is reachable, of this version, writable, safe against power cuts, and used with the right secret.
    Raises StorageError for a database that cannot be opened or written."""
    settings = deployment.settings
    file = sqlite_path(settings.database_url)
    if file is None and settings.secret is None:
        what = f"{env_name('secret')} is not set, and PostgreSQL needs it."
        yield Diagnosis("problem", what, "Set it, the same for every process.")
    if file is not None:
        if not file.absolute().parent.is_dir():
            yield Diagnosis("problem", f"There is no folder {file.absolute().parent} for the database.", "Make it.")
            return
        if not file.exists():
            yield Diagnosis("ok", f"There is no database {file.resolve()} yet; the first start makes it.")
            return
    status = migration_status(settings.database_url)
    if status.waiting:
        what = f"The database has the tables of an older Parley (revision {status.revision})."
        yield Diagnosis("problem", what, "Stop every process that uses it, and run `parley db migrate`.")
        return
    for name in status.outdated:
        yield Diagnosis("problem", f"The table {name} is of an older version.", "Run `parley db rebuild`.")
    if not status.outdated:
        database = open_database(settings.database_url)
        try:
            yield from _use(settings, database)
        finally:
            database.dispose()


def _use(settings: Settings, database: Database) -> Iterator[Diagnosis]:
    product = probe(database)
    yield Diagnosis("ok", f"{redact_password(settings.database_url)} ({product}) can be read and written.")
    refuse_other_secret(database, secret_in_use(settings) or "")


def check_disk(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check that files can be made where Parley makes some, and that the disks have space."""
    settings = deployment.settings
    file = sqlite_path(settings.database_url)
    folders = {Path(tempfile.gettempdir()): "uploads and exports of the console", Path.cwd(): "exports of commands"}
    folders |= {file.resolve().parent: "the database and its secret"} if file is not None else {}
    problems = [*unwritable_drafts(settings), *(one for it in folders.items() for one in _unwritable(*it))]
    yield from problems or [Diagnosis("ok", "All folders that Parley writes into can be written.")]
    for key, data in full_disks(settings):
        yield Diagnosis("warning", *explained(Alert(key, data, 0, 0, 0)))


def unwritable_drafts(settings: Settings) -> Iterator[Diagnosis]:
    """A problem for the folder of drafts if it cannot be written, and for each draft in it that cannot."""
    folder = settings.studies_dir.resolve()
    yield from _unwritable(folder, f"study drafts ({env_name('studies_dir')})")
    drafts = Drafts(folder)
    for name in drafts.names():
        yield from _unwritable(drafts.folder(name), f"the changes of the draft {name}")


def _unwritable(folder: Path, purpose: str) -> Iterator[Diagnosis]:
    there = next(path for path in (folder, *folder.parents) if path.exists())  # it is made where it is not there yet
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"Parley")
    except OSError as fault:
        what = f"{folder} cannot be written, where {purpose} belong: {fault.strerror}."
        yield Diagnosis("problem", what, "Let the user who runs Parley write there, or choose another folder.")


def check_public_address(deployment: Deployment) -> Iterator[Diagnosis]:
    """The participants' address and the proxy before it, asked as a page does without a session; none begins."""
    settings, url = deployment.settings, deployment.settings.public_url
    if url is None:
        if is_loopback(settings.host):
            yield Diagnosis("ok", f"{PUBLIC} is not set: participants reach Parley from this machine only.")
        else:
            what = f"{PUBLIC} is not set, and Parley listens to the network at {settings.host} unencrypted."
            yield Diagnosis("warning", what, f"Put a proxy with https before Parley, and set {PUBLIC} to its address.")
        return
    networks = [ip_network(part.strip()) for part in settings.trusted_proxies.split(",") if part.strip()]
    if url.startswith("http://") and not is_loopback(urlsplit(url).hostname or ""):
        yield Diagnosis("warning", f"{PUBLIC}={url} is not encrypted.", "Use https, also for a test with participants.")
    if not networks:
        what = f"{PROXIES} is not set: all participants behind the proxy share one rate limit."
        yield Diagnosis("warning", what, f"Set {PROXIES} to the address at which the proxy connects to Parley.")
    elif any(network.prefixlen == 0 for network in networks):
        what = f"{PROXIES} trusts everybody: anyone can claim any address, and so escape the rate limits."
        yield Diagnosis("problem", what, "Name the proxy's address or network only.")
    yield _reached(url)


def _reached(url: str) -> Diagnosis:
    headers = {"origin": "{0.scheme}://{0.netloc}".format(urlsplit(url)), "content-type": "application/json"}
    try:
        with httpx2.Client(timeout=WITHIN_S, **connection_to(url)) as asking:
            answer = asking.post(f"{url}/api/look", headers=headers, content=b"{}")
    except (httpx2.HTTPError, OSError, SettingsError) as fault:
        what = f"There is no connection from this machine to {url} ({fault})."
        return Diagnosis(
            "warning", what, "Open it in a browser elsewhere: some networks do not reach their own address."
        )
    if answer.status_code == httpx2.codes.FORBIDDEN and ANOTHER_SITE in answer.text:
        what = f"The proxy at {url} does not pass the header Host: every click is refused."
        return Diagnosis("problem", what, "nginx: `proxy_set_header Host $http_host;`.")
    if answer.status_code == httpx2.codes.UNAUTHORIZED and '"words"' in answer.text:
        return Diagnosis("ok", f"{PUBLIC}={url} reaches Parley, and the proxy passes the header Host.")
    what = f"{PUBLIC}={url} answers with status {answer.status_code}, and not as Parley does."
    return Diagnosis("warning", what, "Start Parley, or correct the port to which the proxy passes requests.")


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_model_servers(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check that each server answers the request for its list of models, which costs nothing, and accepts the key."""
    settings = deployment.settings
    used = {model.server: model.backend for study in deployment.studies for model in study.file.models.values()}
    servers: dict[str, tuple[str, Server]] = {}
    for kind, address in (("openai", OPENAI_URL), ("anthropic", ANTHROPIC_URL)):
        with suppress(SettingsError):
            servers[kind] = kind, own_server(settings, kind, address)
    for name in settings.server_names:
        if name == PROLIFIC:
            continue
        try:
            servers[name] = used.get(name, "openai"), settings.server(name)
        except SettingsError as fault:
            yield Diagnosis("problem", f"The model server {name} cannot be used: {fault}", "Correct the setting.")
    yield from asyncio.run(_listed(settings, servers))
    if not servers:
        yield Diagnosis("ok", "No model server is set; models with the backend scripted need none.")


async def _listed(settings: Settings, servers: Mapping[str, tuple[str, Server]]) -> list[Diagnosis]:
    return await asyncio.gather(*(_asked(settings, name, *server) for name, server in servers.items()))


async def _asked(settings: Settings, name: str, kind: str, server: Server) -> Diagnosis:
    """`GET /models` is known to OpenAI's kind of servers and to Anthropic's."""
    headers, path = None, "/models"
    if kind == "anthropic":
        headers, path = headers_for(server), path_at(server, "models")
    try:
        asking = client(settings, server, headers)
        try:
            async with asyncio.timeout(WITHIN_S):
                async with asking.stream("GET", path):
                    pass
        finally:
            await asking.aclose()
    except (BackendError, SettingsError, TimeoutError) as fault:
        to_do = "Start the server, or correct its address and key. `parley models STUDY` sends a message."
        # servers without such a list may be sound
        level: Level = "warning" if getattr(fault, "reason", "") in ("status_404", "status_405") else "problem"
        return Diagnosis(level, f"{name}: {server.mask(str(fault) or 'no answer')}", to_do)
    return Diagnosis("ok", f"{name}: {server.url} answers{' and accepts the key' if server.key else ''}.")


def check_prolific(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check the token, the workspaces with their balance, the webhook, and the codes of studies at Prolific."""
    settings = deployment.settings
    recruited = [study for study in deployment.studies if study.file.prolific]
    if not recruited and settings.prolific_token is None and settings.find_server(PROLIFIC) is None:
        yield Diagnosis("ok", "No study is recruited by Prolific's API.")
        return
    with prolific_client(settings) as asking:
        yield Diagnosis("ok", f"The token is accepted; the account's currency is {asking.account().currency_code}.")
        yield from _workspaces(asking, settings)
        theirs = asking.studies() if recruited else ()
        for study in recruited:
            ours = [one for one in theirs if one.internal_name.startswith(f"{study.name} ")]
            yield from (_codes_at_prolific(study, asking.study(one.id)) for one in ours if one.status != "COMPLETED")


def _workspaces(asking: Prolific, settings: Settings) -> Iterator[Diagnosis]:
    known = {one.id: one.title for one in asking.workspaces()}
    for workspace in workspaces_of(settings, asking):
        if workspace not in known:
            what = f"The token's account has no workspace {workspace}; it has {', '.join(known) or 'none'}."
            yield Diagnosis("problem", what, f"Correct {env_name('prolific_workspaces')}, or use another token.")
            continue
        money, hook = asking.balance(workspace).available, f"{settings.address}{WEBHOOK}"
        level: Level = "ok" if money.cents > 0 else "warning"
        yield Diagnosis(level, f"{known[workspace]}: {money} are available.", "" if money.cents > 0 else "Add funds.")
        if not any(one.target_url == hook for one in asking.subscriptions(workspace)):
            what = f"{known[workspace]}: no webhook of Prolific leads to {hook}, so Parley asks every few minutes."
            yield Diagnosis("warning", what, "A webhook makes places free sooner: parley recruit webhook")


def _codes_at_prolific(study: Study, there: ProlificStudy) -> Diagnosis:
    ours = {code for codes in possible_codes(study).values() for code in codes if code}
    if missing := ours - {one.code for one in there.completion_codes}:
        what = f"{study.name}: Prolific does not know the completion code {', '.join(sorted(missing))}."
        return Diagnosis("problem", what, "Participants with it are not paid. Add it at Prolific, or take it out here.")
    return Diagnosis("ok", f"{study.name}: Prolific knows all completion codes ({there.status}).")


def check_studies(deployment: Deployment) -> Iterator[Diagnosis]:
    for study in deployment.studies:
        faults = asyncio.run(configuration_errors(study.file.models.values(), deployment.settings))
        for fault in faults:
            what = f"The study {study.name}: {fault}"
            yield Diagnosis("problem", what, "Correct the setting, or the study's `models`.")
        if not faults:
            yield Diagnosis("ok", f"The study {study.name} has all settings that its models need.")
    if not deployment.studies:
        yield Diagnosis("ok", "No study was named, and none is published: `parley doctor STUDY` looks at its models.")


def check_tools(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check that each server of tools can be asked, and has the tools last offered to models. No tool is called."""
    named = [(study, name) for study in deployment.studies for name in study.file.tools or {}]
    yield from asyncio.run(_tools_listed(deployment, named))
    if not named:
        yield Diagnosis("ok", "No study has tools.")


async def _tools_listed(deployment: Deployment, named: Sequence[tuple[Study, str]]) -> list[Diagnosis]:
    return await asyncio.gather(*(_tools_of(deployment, *one) for one in named))


async def _tools_of(deployment: Deployment, study: Study, name: str) -> Diagnosis:
    whose = f"{study.name}: the server of the tools {name}"
    try:
        found = await asked(deployment.settings, (study.file.tools or {})[name])
    except SettingsError as fault:
        return Diagnosis(
            "problem", f"{whose} cannot be used: {fault}", "Start the server, or correct the study's `tools`."
        )
    database = deployment.database
    kept = offered_tools(database, study.name, study.hash, name) if database else None
    if kept is not None and (names := differing(as_specs(kept), found)):
        what = f"{whose} has others than models are offered: {', '.join(names)}."
        return Diagnosis("problem", what, "Set the server back, or publish a version with the new tools.")
    return Diagnosis("ok", f"{whose} answers{'' if kept is None else ', and has what models are offered'}.")


def check_alerts(deployment: Deployment) -> Iterator[Diagnosis]:
    if deployment.settings.alert_webhook_url is not None:
        yield Diagnosis("ok", "Alerts are posted to the webhook. `parley alerts --test` sends a test.")
    else:
        what = "Alerts are shown in the console only, so nobody hears of a failing model at night."
        yield Diagnosis("warning", what, f"Set {env_name('alert_webhook_url')}.")


def check_reminders(deployment: Deployment) -> Iterator[Diagnosis]:
    """Check that the mail server accepts a connection and the login. Nothing is sent."""
    settings = deployment.settings
    if settings.mail_host:
        with closing(MailChannel(settings)) as mail:
            mail.open()
        yield Diagnosis(
            "ok", f"The mail server {settings.mail_host} accepts connections{settings.mail_user and ' and the login'}."
        )
    for study in deployment.studies:
        for what, to_do in unsendable_reminders(study, settings):
            yield Diagnosis("problem", what, to_do)


CHECKS: Mapping[str, Callable[[Deployment], Iterator[Diagnosis]]] = {
    "settings": check_settings,
    "database": check_database,
    "disk": check_disk,
    "public address": check_public_address,
    "model servers": check_model_servers,
    "Prolific": check_prolific,
    "studies": check_studies,
    "tools": check_tools,
    "alerts": check_alerts,
    "reminders": check_reminders,
}


def examine(deployment: Deployment) -> list[tuple[str, Diagnosis]]:
    """All findings, each with the name of its check. The checks run at the same time, as some wait for machines."""
    with ThreadPoolExecutor() as threads:
        return [one for found in threads.map(lambda name: _checked(name, deployment), CHECKS) for one in found]


def _checked(name: str, deployment: Deployment) -> list[tuple[str, Diagnosis]]:
    found = []
    try:
        for finding in CHECKS[name](deployment):
            found.append((name, finding))
    except (ParleyError, OSError, UnicodeError) as fault:
        found.append((name, Diagnosis("problem", str(fault), "Correct this, and run the command again.")))
    return found
