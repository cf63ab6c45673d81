"""The links of the studies that a server offers, printed when it starts."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from ipaddress import ip_address

from app.cli.printing import echo, out
from app.config.secret import secret_for
from app.config.settings import Settings
from app.web import qr_code
from app.web.participant.recruiter_links import recruitment_links
from app.web.participant.signed_links import TrialLinks
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.registers.study_versions import status_of_all

ELSEWHERE = ("192.0.2.1", 9)
"""An address of documentation (RFC 5737), to which nothing is sent: the system says from where it would be."""


def print_links(studies: Sequence[Study], database: Database, settings: Settings, *, qr: bool = False) -> None:
    """Print the links of the studies that are served: those for each recruiter, and those to preview and pilot it.

    `qr` adds a code with which a phone opens the preview, if one study is served and a phone can reach the server.
    """
    published = {name: held for name, held in status_of_all(database).items() if held.offered}
    known = {study.name: study for study in studies}
    known |= {name: Studies(database).newest(name) for name in published if name not in known}
    trials = TrialLinks(secret_for(settings, database))
    for name, study in known.items():
        state = f" ({published[name].state})" if name in published else ""
        echo(f"  {study.file.title}{state}")
        links = recruitment_links(study, settings.address)
        for label, link in [*links, *trials.links(name, settings.address)]:
            echo(f"    {label}: {link}")
        if not links:
            echo(f"    Personal links: parley recruit links {name}")
    if not known:
        echo("  No study yet: every study is served as soon as it is published, and piloted or opened.")
    if qr and len(known) == 1:
        _print_qr(trials, next(iter(known)), settings)


def _print_qr(trials: TrialLinks, study: str, settings: Settings) -> None:
    address = address_for_phones(settings)
    if address is None:
        echo("  For a link that a phone in your network can open: --host 0.0.0.0")
    elif "utf" in out.encoding.lower():
        echo(f"  The preview on a phone:\n{qr_code.as_text(trials.link('preview', study, address))}")


def own_address() -> str:
    """The address of this machine in its network; that of the machine for itself if it is in none."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def address_for_phones(settings: Settings, own: Callable[[], str] = own_address) -> str | None:
    """Where another device finds the participants' server; None if only this machine can reach it."""
    if settings.public_url:
        return settings.address
    try:
        listening = ip_address(settings.host)
    except ValueError:
        return None if settings.host == "localhost" else settings.address
    if listening.is_loopback:
        return None
    return f"http://{own()}:{settings.port}" if listening.is_unspecified else settings.address
