"""Alerts sent by mail, over SMTP."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from app.alerts.lifecycle import Notice
from app.alerts.text import body, subject
from app.backends.wire.http_client import trusted
from app.config.settings import Settings, env_name
from app.errors import NotDelivered

WITHIN_S = 15.0
MOST_CHARS = 200


class Mail:
    """A mail server, and the addresses to which alerts are sent."""

    name = "mail"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._from = settings.alert_mail_from or settings.smtp_user
        self._to = [part.strip() for part in settings.alert_mail_to.split(",") if part.strip()]

    async def send(self, notice: Notice) -> str:
        """Hand a message to the mail server; each address must be accepted."""
        return await asyncio.to_thread(self._send, self._message(notice))

    def _message(self, notice: Notice) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"] = self._from, ", ".join(self._to)
        message["Subject"] = f"[Parley] {' '.join(subject(notice).split())}"
        message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="parley.invalid")
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office reply
        message.set_content(body(notice, self._settings.console_address))
        return message

    def log_in(self) -> str:
        """Connect as for a mail, log in, and send none; returns what the server answered. Raises NotDelivered."""
        with self._session() as server:
            return _accepted(server.noop())

    def _send(self, message: EmailMessage) -> str:
        with self._session() as server:
            _accepted(server.mail(self._from))
            for address in self._to:
                _accepted(server.rcpt(address))
            return _accepted(server.data(message.as_bytes()))

    @contextmanager
    def _session(self) -> Iterator[smtplib.SMTP]:
        """An encrypted connection with a login, as set; what goes wrong with it raises NotDelivered."""
        settings = self._settings
        try:
            with self._connected() as server:
                if settings.smtp_tls == "starttls":
                    server.starttls(context=trusted())
                if settings.smtp_password is not None:
                    server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
                server.ehlo_or_helo_if_needed()
                yield server
        except smtplib.SMTPAuthenticationError as error:
            why = f"it refused {env_name('smtp_user')} or {env_name('smtp_password')}"
            raise NotDelivered(f"{why} ({_said(error.smtp_code, error.smtp_error)})") from None
        except smtplib.SMTPResponseException as error:
            raise NotDelivered(f"it answered {_said(error.smtp_code, error.smtp_error)}") from None
        except (smtplib.SMTPException, OSError) as error:
            advice = next((words for kind, words in self._advice() if isinstance(error, kind)), "")
            raise NotDelivered(f"no connection ({type(error).__name__}: {error}){advice}") from None

    def _advice(self) -> Iterator[tuple[type[Exception], str]]:
        """What an error of a connection probably means, the most special kind first."""
        other = {"starttls": "tls", "tls": "starttls", "none": "tls"}[self._settings.smtp_tls]
        wrong_way = f". Is {env_name('smtp_tls')}={other} right for port {self._settings.smtp_port}?"
        yield ssl.SSLCertVerificationError, ". Name the authority of its certificate in SSL_CERT_FILE"
        yield smtplib.SMTPNotSupportedError, f". The server does not offer this; {env_name('smtp_tls')} says how"
        yield from ((kind, wrong_way) for kind in (ssl.SSLError, TimeoutError, smtplib.SMTPServerDisconnected))

    def _connected(self) -> smtplib.SMTP:
        host, port = self._settings.smtp_host, self._settings.smtp_port
        if self._settings.smtp_tls == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=WITHIN_S, context=trusted())
        return smtplib.SMTP(host, port, timeout=WITHIN_S)


def _accepted(answer: tuple[int, bytes]) -> str:
    """The server's answer, if it is one of success; raises SMTPResponseException."""
    if not 200 <= answer[0] < 300:
        raise smtplib.SMTPResponseException(*answer)
    return _said(*answer)


def _said(code: int, text: bytes | str) -> str:
    words = text.decode(errors="replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())}"[:MOST_CHARS]
