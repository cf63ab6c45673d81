"""Reminders by mail: one connection to the mail server (SMTP) for all that are due, and the causes of failures.

Up to the content everything that fails certainly sent nothing. A server that answers the content with an error has not
taken it (RFC 5321, 4.2.5). One that does not answer it may have.
"""

from __future__ import annotations

import smtplib
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, parseaddr

from app.backends.wire.http_client import trusted
from app.config.settings import Settings, env_name
from app.errors import NotDelivered, SettingsError
from app.session.reminders.channels import WITHIN_S, Failure
from app.session.reminders.message import ReminderMessage

OK, PERMANENT = 250, 500
# A long link that is folded would be encoded.
UNFOLDED = SMTP.clone(max_line_length=998)
LOCAL = ("localhost", "127.0.0.1", "::1")


class MailChannel:
    """Raises SettingsError if the settings do not go together."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._address = parseaddr(settings.mail_from)[1]
        self._server: smtplib.SMTP | None = None
        if not self._address:
            raise SettingsError(f"{env_name('mail_from')} is missing: mails need a sender")
        if settings.mail_security == "none" and settings.mail_host not in LOCAL:
            raise SettingsError(f"{env_name('mail_security')}=none is for a mail server on this machine only")
        if bool(settings.mail_user) != bool(settings.mail_password):
            raise SettingsError(f"{env_name('mail_user')} and {env_name('mail_password')} go together")

    def open(self) -> None:
        """Connect and log in, or see that the connection is still there."""
        try:
            if self._server is None or self._server.noop()[0] != OK:
                self.close()
                self._connect()
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            raise NotDelivered(f"the mail server {self._settings.mail_host}: {_cause(error)}") from None

    def _connect(self) -> None:
        its = self._settings
        where = its.mail_host, its.mail_port
        if its.mail_security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(*where, timeout=WITHIN_S, context=trusted())
        else:
            server = smtplib.SMTP(*where, timeout=WITHIN_S)
        self._server = server
        if its.mail_security == "starttls":
            server.starttls(context=trusted())
        if its.mail_password is not None:
            server.login(its.mail_user, its.mail_password.get_secret_value())
        server.ehlo_or_helo_if_needed()

    def send(self, message: ReminderMessage) -> Failure | None:
        server, content = self._server, self.mail(message).as_bytes(policy=UNFOLDED)
        if server is None:
            return Failure("not_connected", certain=True, again=True)
        try:
            for step, address in ((server.mail, self._address), (server.rcpt, message.recipient.to)):
                code, _ = step(address)
                if not 200 <= code < 300:
                    server.rset()
                    return Failure(f"smtp_{code}", certain=True, again=code < PERMANENT)
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            return Failure(_cause(error), certain=True, again=True)
        try:
            code, _ = server.data(content)
        except smtplib.SMTPDataError as error:
            code = error.smtp_code
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            return Failure(_cause(error), certain=False)
        return None if code == OK else Failure(f"smtp_{code}", certain=True, again=code < PERMANENT)

    def mail(self, message: ReminderMessage) -> EmailMessage:
        mail = EmailMessage(SMTP)
        mail["Subject"] = message.subject
        mail["From"], mail["To"] = self._settings.mail_from, message.recipient.to
        mail["Date"] = formatdate(message.reminder.at_us / 1e6)
        mail["Message-ID"] = f"<{message.key}@{self._address.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail["List-Unsubscribe"] = f"<{message.recipient.unsubscribe}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        mail.set_content(message.mail_text, cte="base64")
        mail.add_alternative(message.mail_html, subtype="html", cte="base64")
        mail["Content-Language"] = message.recipient.language
        return mail

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _cause(error: Exception) -> str:
    """A code for the log, without the server's words, which may hold an address."""
    code = getattr(error, "smtp_code", None)
    return f"smtp_{code}" if isinstance(code, int) else type(error).__name__
