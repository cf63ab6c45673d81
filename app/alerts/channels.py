"""The ways by which alerts are sent, and how patiently.

A message is tried TRIES times by each channel. What cannot be delivered then is noted with the alert, and sent again
with its next reminder, or on its own after the alert has closed (lifecycle.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from app.alerts.lifecycle import Notice
from app.alerts.mail import Mail
from app.alerts.webhook import Webhook
from app.config.settings import Settings, env_name
from app.errors import NotDelivered, SettingsError

TRIES = 3
PAUSE_S = 10.0
"""The pause before the second try; before the third it is three times as long."""


class Channel(Protocol):
    """A way by which alerts are sent."""

    name: str

    async def send(self, notice: Notice) -> str:
        """Send a message once, and return what the server answered; raises NotDelivered."""
        ...


def channels_of(settings: Settings) -> tuple[Channel, ...]:
    """The channels that a deployment has set; raises SettingsError for settings that do not go together."""
    faults = tuple(_faults(settings))
    if faults:
        raise SettingsError("Invalid settings for alerts:", *faults)
    found: list[Channel] = []
    if settings.alert_webhook_url is not None:
        found.append(Webhook(settings))
    if settings.alert_mail_to:
        found.append(Mail(settings))
    return tuple(found)


def _faults(settings: Settings) -> list[str]:
    found = []
    if settings.alert_webhook_secret is not None and settings.alert_webhook_url is None:
        found.append(_needs("alert_webhook_secret", "alert_webhook_url"))
    if settings.alert_mail_to and not settings.smtp_host:
        found.append(_needs("alert_mail_to", "smtp_host"))
    if settings.smtp_host and not settings.alert_mail_to:
        found.append(_needs("smtp_host", "alert_mail_to"))
    if settings.alert_mail_to and not (settings.alert_mail_from or "@" in settings.smtp_user):
        found.append(_needs("alert_mail_to", "alert_mail_from"))
    if bool(settings.smtp_user) != (settings.smtp_password is not None):
        names = ("smtp_user", "smtp_password") if settings.smtp_user else ("smtp_password", "smtp_user")
        found.append(_needs(*names))
    if settings.smtp_password is not None and settings.smtp_tls == "none":
        found.append(
            f"{env_name('smtp_tls')}=none would send {env_name('smtp_password')} unencrypted. Use starttls or tls, or "
            "remove the user and the password."
        )
    return found


def _needs(given: str, missing: str) -> str:
    return f"{env_name(given)} is set, and {env_name(missing)} is not. Set both, or neither."


async def deliver(
    channels: Sequence[Channel], notice: Notice, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Mapping[str, str]:
    """Send a message by all channels at the same time; returns why it was not delivered, by channel."""
    results = await asyncio.gather(*(_tried(channel, notice, pause) for channel in channels))
    return {channel.name: why for channel, why in zip(channels, results, strict=True) if why}


async def _tried(channel: Channel, notice: Notice, pause: Callable[[float], Awaitable[None]]) -> str:
    """Send a message, and again if that fails; returns why the last try failed, or nothing."""
    why = ""
    for number in range(TRIES):
        try:
            if number:
                await pause(PAUSE_S * 3 ** (number - 1))
            await channel.send(notice)
        except NotDelivered as error:
            why = str(error)
        else:
            return ""
    return why
