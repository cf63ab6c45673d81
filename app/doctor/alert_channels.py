"""The ways by which alerts are sent: the mail server, with its encryption and login, and the webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

from app.alerts.channels import channels_of
from app.alerts.lifecycle import Notice
from app.alerts.mail import Mail
from app.config.settings import Settings, env_name
from app.doctor.addresses import PORTS, connects, is_loopback
from app.doctor.finding import Deployment, Diagnosis, error, ok, warning
from app.errors import NotDelivered
from storage.registers.alerts import Alert, AlertKey

WEBHOOK = env_name("alert_webhook_url")


def check_alerts(deployment: Deployment) -> Iterator[Diagnosis]:
    """Raises SettingsError for settings that do not go together. No mail is sent and nothing is posted."""
    settings = deployment.settings
    channels = channels_of(settings)
    if not channels:
        yield warning(
            "Alerts are shown in the console only, so nobody hears of a failing model at night.",
            f"Set {WEBHOOK}, or {env_name('smtp_host')} and {env_name('alert_mail_to')}.",
        )
    for channel in channels:
        if isinstance(channel, Mail):
            yield _mail(channel, settings)
    if settings.alert_webhook_url is not None:
        yield from _webhook(settings.alert_webhook_url.get_secret_value())


def _mail(mail: Mail, settings: Settings) -> Diagnosis:
    where = f"The mail server {settings.smtp_host}:{settings.smtp_port} ({env_name('smtp_tls')}={settings.smtp_tls})"
    try:
        mail.log_in()
    except NotDelivered as fault:
        return error(f"{where} cannot be used: {fault}.", "Correct the settings that begin with PARLEY_SMTP.")
    login = " and accepts the login" if settings.smtp_password is not None else ""
    return ok(f"{where} answers{login}. `parley doctor --send-mail ADDRESS` sends a mail.")


def send_mail(settings: Settings, address: str, now_us: int) -> Diagnosis:
    """Send a test alert to one address."""
    mail = Mail(settings.model_copy(update={"alert_mail_to": address}))
    try:
        answer = asyncio.run(mail.send(Notice(Alert(AlertKey("test"), {}, now_us, now_us, now_us), "test")))
    except NotDelivered as fault:
        return error(f"A mail to {address} was not accepted: {fault}.", "Correct the address, or the mail settings.")
    return ok(f"A mail to {address} was accepted ({answer}). Look whether it arrives, and not among spam.")


def _webhook(url: str) -> Iterator[Diagnosis]:
    """Its address is a secret, so only the host is shown."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    if parts.scheme == "http" and not is_loopback(host):
        yield warning(f"{WEBHOOK} posts to {host} unencrypted.", "Use an address with https.")
    if parts.path in ("", "/"):
        yield warning(f"{WEBHOOK} has a host and no path.", "Copy the whole address, which mostly ends in a long code.")
    fault = connects(host, port)
    if fault is None:
        yield ok(f"{WEBHOOK}: {host} answers at port {port}. `parley alerts --test` posts a test alert.")
    else:
        yield warning(
            f"{WEBHOOK}: there is no direct connection to {host}:{port} ({fault}).",
            "Try it with `parley alerts --test`, which uses the proxy if one is set.",
        )
