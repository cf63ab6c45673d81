"""Mails through a real mail server: encrypted from the beginning or by STARTTLS, with a login, and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.alerts import mail
from app.alerts.lifecycle import Notice
from app.alerts.mail import Mail
from app.config.settings import Settings
from app.errors import NotDelivered
from storage.registers.alerts import Alert, AlertKey
from tests.fakes.alert_receivers import Mailbox, mailbox
from tests.fakes.certificate import self_signed

pytestmark = pytest.mark.anyio
NOTICE = Notice(Alert(AlertKey("quota", "s"), {}, 1, 1, 1), "opened")
LOGIN = ("parley@test.example", "a password of the mail server")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "mail.pem")


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's certificate, as that of a private authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate


def sender(box: Mailbox, **given: Any) -> Mail:
    known = {"smtp_host": "127.0.0.1", "smtp_port": box.port, "alert_mail_to": "ada@test.example"}
    return Mail(Settings(_env_file=None, **known, alert_mail_from="parley@test.example", **given))


@pytest.fixture(params=["starttls", "tls"])
def tls(request: pytest.FixtureRequest) -> Iterator[str]:
    return request.param


async def test_a_mail_is_sent_encrypted_and_with_a_login(tls: str, trusted: Path) -> None:
    user, password = LOGIN
    with mailbox(tls, trusted, LOGIN) as box:
        channel = sender(box, smtp_tls=tls, smtp_user=user, smtp_password=password)
        assert "queued as 1" in await channel.send(NOTICE)
        channel.log_in()
    logged_in = [session for session in box.sessions if session.authenticated]
    assert (len(box.messages), len(logged_in)) == (1, 2)
    assert all(session.ssl is not None for session in logged_in) or tls == "tls", "which has it from the beginning"


@pytest.mark.parametrize(("user", "password"), [("parley@test.example", "wrong"), ("nobody", LOGIN[1])])
async def test_a_refused_login_names_its_settings_and_not_the_password(
    tls: str, user: str, password: str, trusted: Path
) -> None:
    with mailbox(tls, trusted, LOGIN) as box:
        channel = sender(box, smtp_tls=tls, smtp_user=user, smtp_password=password)
        for call in (channel.log_in, lambda: channel._send(channel._message(NOTICE))):
            with pytest.raises(NotDelivered, match=r"PARLEY_SMTP_USER or PARLEY_SMTP_PASSWORD \(535") as refused:
                call()
            assert password not in str(refused.value)
    assert box.messages == []


async def test_a_server_whose_certificate_nobody_vouches_for_gets_no_password(tls: str, certificate: Path) -> None:
    with mailbox(tls, certificate, LOGIN) as box:
        channel = sender(box, smtp_tls=tls, smtp_user=LOGIN[0], smtp_password=LOGIN[1])
        with pytest.raises(NotDelivered, match="SSL_CERT_FILE"):
            channel.log_in()
    assert not any(session.authenticated for session in box.sessions)


@pytest.mark.parametrize(
    ("served", "told", "advice"),
    [
        ("none", "starttls", "PARLEY_SMTP_TLS"),
        ("none", "tls", "PARLEY_SMTP_TLS=starttls"),
        ("starttls", "tls", "PARLEY_SMTP_TLS=starttls"),
        ("starttls", "none", "STARTTLS"),
        ("tls", "starttls", "PARLEY_SMTP_TLS=tls"),
        ("tls", "none", "PARLEY_SMTP_TLS=tls"),
    ],
)
async def test_another_encryption_than_the_server_has_is_told(
    served: str, told: str, advice: str, trusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "WITHIN_S", 2.0)
    with mailbox(served, trusted) as box, pytest.raises(NotDelivered, match=re.escape(advice)):
        await sender(box, smtp_tls=told).send(NOTICE)
    assert box.messages == []
