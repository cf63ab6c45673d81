"""The command that looks for what is wrong around Parley on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from shlex import quote
from typing import Annotated

import httpx2
import typer
from rich.markup import escape

from app.cli.commands import command
from app.cli.common import AsJson, finish, with_saved
from app.cli.http_server import require_free_port
from app.cli.logging_setup import set_up
from app.cli.printing import out, print_json
from app.config import settings as configuration
from app.config.settings import Settings, env_name, reachable_url
from app.doctor.addresses import connects
from app.doctor.alert_channels import check_alerts, send_mail
from app.doctor.clock import check_clock
from app.doctor.database import check_database, database_times
from app.doctor.disk import check_disk
from app.doctor.environment import check_environment
from app.doctor.extras import check_extras
from app.doctor.finding import Deployment, Diagnosis, Level, error, ok
from app.doctor.model_servers import ask_servers, check_model_servers, check_studies, clocks
from app.doctor.web_address import check_outgoing, check_public_address
from app.errors import SettingsError
from app.studies.loader import load_study
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.db.database_url import sqlite_path
from storage.errors import StorageError
from storage.registers.studies import Studies

Area = tuple[str, Callable[[], Iterable[Diagnosis]]]
COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}
HEALTH = {"port": "/healthz/live", "console_port": "/healthz"}


@command("doctor")
def doctor(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY",
            help="Study files, or names of studies that come with Parley. Default: the published ones.",
            show_default=False,
        ),
    ] = None,
    mail_to: Annotated[
        str, typer.Option("--send-mail", metavar="ADDRESS", help="Also send a test mail to this address.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Settings, database, disks, clock, ports, public address, proxies, model servers, mail, and optional packages.

    It changes nothing, sends models no message and costs nothing. The exit code is 1 if there is an error.
    """
    found = list(_findings(studies or [], mail_to))
    errors = sum(finding.level is Level.ERROR for _, finding in found)
    warnings = sum(finding.level is Level.WARNING for _, finding in found)
    if as_json:
        rows = [{"area": area, "level": one.level, "what": one.what, "to_do": one.to_do} for area, one in found]
        print_json({"errors": errors, "warnings": warnings, "findings": rows})
    else:
        for area, one in found:
            _print(area, one)
        out.print(f"Errors: {errors}. Warnings: {warnings}.", highlight=False)
    if errors:
        raise typer.Exit(1)


def _print(area: str, finding: Diagnosis) -> None:
    colour = COLOURS[finding.level]
    out.print(f"[{colour}]{finding.level.upper():<7}[/{colour}] {area}: {escape(finding.what)}", highlight=False)
    if finding.to_do:
        out.print(f"        {escape(finding.to_do)}", highlight=False)


def _findings(references: list[str], mail_to: str) -> Iterator[tuple[str, Diagnosis]]:
    """All that is found, by the area that it is about, in the same order each time."""
    yield from _run([("settings", check_environment)])
    try:
        settings = configuration.load()
    except (SettingsError, UnicodeError) as fault:
        first, *each = str(fault).splitlines()
        for line in each or [first]:
            yield "settings", error(line.strip(), "Correct this setting; nothing else can be looked at before.")
        return
    set_up(settings)
    try:
        sqlite_path(settings.database_url)
    except StorageError as fault:
        yield "database", error(f"{fault}.", "Correct this setting; nothing else can be looked at before.")
        return
    known, studies, faults = _studies(settings, references)
    yield from (("studies", fault) for fault in faults)
    deployment = Deployment(known, tuple(studies))
    states = finish(ask_servers(deployment))
    now_us = time.time_ns() // 1000
    others, last_us = database_times(settings)
    areas: list[Area] = [
        ("database", lambda: check_database(deployment)),
        ("disk", lambda: check_disk(deployment)),
        ("clock", lambda: check_clock(now_us, {**others, **clocks(states)}, last_us)),
        ("ports", lambda: check_ports(settings)),
        ("public address", lambda: check_public_address(deployment)),
        ("way out", lambda: check_outgoing(deployment)),
        ("model servers", lambda: check_model_servers(states, studies)),
        ("studies", lambda: check_studies(deployment)),
        ("alerts", lambda: check_alerts(deployment)),
        ("packages", lambda: check_extras(deployment)),
    ]
    if mail_to:
        areas.append(("mail", lambda: [send_mail(settings, mail_to, now_us)]))
    yield from _run(areas)


def _run(areas: Iterable[Area]) -> Iterator[tuple[str, Diagnosis]]:
    """Run checks at the same time, as some wait for others' machines."""
    with ThreadPoolExecutor() as threads:
        for found in threads.map(_checked, areas):
            yield from found


def _checked(area: Area) -> list[tuple[str, Diagnosis]]:
    """What one check finds; an error that it raises is a finding too."""
    name, check = area
    found = []
    try:
        for finding in check():
            found.append((name, finding))
    except (ParleyError, OSError, UnicodeError) as fault:
        text = str(fault)
        found.append((name, error(f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}")))
    return found


def _studies(settings: Settings, references: list[str]) -> tuple[Settings, list[Study], list[Diagnosis]]:
    """The settings with the servers saved in the database, the studies, and what cannot be loaded."""
    studies, faults = [], []
    for reference in references:
        try:
            studies.append(load_study(reference))
        except ParleyError as fault:
            faults.append(error(str(fault), f"`parley check {quote(reference)}` lists all errors of the study."))
    try:
        known, database = with_saved(settings)
        if database is not None and not references:
            studies += _published(Studies(database))
    except ParleyError:  # the check of the database says why
        return settings, studies, faults
    return known, studies, faults


def _published(register: Studies) -> Iterator[Study]:
    """The newest version of each study that this Parley can read."""
    for name in register.names():
        try:
            yield register.newest(name)
        except ParleyError:
            continue


def check_ports(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the ports are free, or Parley itself listens there."""
    for name, path in HEALTH.items():
        port = getattr(settings, name)
        try:
            require_free_port(settings, name)
        except SettingsError as fault:
            if _is_parley(reachable_url(settings.host), port, path):
                yield ok(f"Parley listens on {settings.host}:{port} ({env_name(name)}) already.")
            else:
                yield error(str(fault))
        else:
            yield ok(f"Parley can listen on {settings.host}:{port} ({env_name(name)}).")
    if settings.port == settings.console_port != 0:
        yield error(
            f"{env_name('port')} and {env_name('console_port')} are both {settings.port}.", "Give each another port."
        )
    if settings.metrics_port is not None and connects(settings.metrics_host, settings.metrics_port) is None:
        yield ok(f"Something listens on the port for metrics, {settings.metrics_port}: Parley, if it runs now.")


def _is_parley(host: str, port: int, path: str) -> bool:
    address = f"[{host}]" if ":" in host else host
    try:
        answer = httpx2.get(f"http://{address}:{port}{path}", timeout=3, trust_env=False)
    except httpx2.HTTPError:
        return False
    return answer.is_success and answer.text == "ok"
