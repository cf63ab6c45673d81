"""A mail server (SMTP) at 127.0.0.1 that keeps what it takes, and can refuse, hang or let go at each command."""

from __future__ import annotations

import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Literal

# What it does in place of its usual answer at a command, or at the end of a mail's content (`.`).
Answer = str | Literal["drop", "hang"]
OVER = "."
CONTENT_FOLLOWS, ENCRYPTION_FOLLOWS = "354 go on", "220 go on"


@dataclass
class MailServer:
    """`answers`: by command such as MAIL, RCPT, DATA or OVER, what it does in place of its usual answer. `login`: the
    user and password that it asks for."""

    certificate: Path | None = None
    login: tuple[str, str] | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    port: int = 0
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    """The mails whose content came whole, whatever was answered, each with its recipient."""
    connections: int = 0
    leave: threading.Event = field(default_factory=threading.Event)

    @property
    def mails(self) -> list[EmailMessage]:
        read = (message_from_bytes(content, policy=default) for _, content in self.taken)
        return [mail for mail in read if isinstance(mail, EmailMessage)]


class _Session(socketserver.StreamRequestHandler):
    its: MailServer

    def handle(self) -> None:
        self.its.connections += 1
        self._encrypted, self._logged_in, self._to = False, False, ""
        if not self._answered("HELLO", "220 fake"):
            return
        while line := self.rfile.readline().decode("ascii", "replace").strip():
            command, _, rest = line.partition(" ")
            if command.upper() == "QUIT":
                return
            answer = self._answered(command.upper(), self._answer(command.upper(), rest))
            if not answer:
                return
            if answer == ENCRYPTION_FOLLOWS:
                self._encrypt()
            if answer == CONTENT_FOLLOWS and not self._content():
                return

    def finish(self) -> None:
        super().finish()
        self.request.close()  # the encrypted one, which the server does not know

    def _answered(self, command: str, usual: str) -> str:
        """Answer a command, and return the answer; empty if the connection is over."""
        answer = self.its.answers.get(command, usual)
        if answer == "hang":
            self.its.leave.wait()
        if answer in ("drop", "hang"):
            return ""
        self.wfile.write(f"{answer}\r\n".encode())
        return answer

    def _answer(self, command: str, rest: str) -> str:
        match command:
            case "EHLO":
                offers = ["STARTTLS"] * bool(self.its.certificate and not self._encrypted)
                offers += ["AUTH PLAIN"] * bool(self.its.login)
                return "\r\n".join(f"250-{offer}" for offer in ["fake", *offers]) + "\r\n250 8BITMIME"
            case "STARTTLS":
                return ENCRYPTION_FOLLOWS
            case "AUTH":
                given = tuple(b64decode(rest.split()[1]).decode().split("\0")[1:])
                self._logged_in = given == self.its.login
                return "235 in" if self._logged_in else "535 wrong"
            case "MAIL" if self.its.login and not self._logged_in:
                return "530 log in"
            case "RCPT":
                self._to = rest.partition("<")[2].rstrip(">")
            case "DATA":
                return CONTENT_FOLLOWS
            case _:
                pass
        return "250 ok"

    def _content(self) -> str:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return ""
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        self.its.taken.append((self._to, b"".join(lines)))
        return self._answered(OVER, "250 taken")

    def _encrypt(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.its.certificate or "")
        self.request = context.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", 0)
        self._encrypted = True


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads, block_on_close = True, False


@contextmanager
def mail_server(certificate: Path | None = None, login: tuple[str, str] | None = None) -> Iterator[MailServer]:
    """A running one; it offers STARTTLS if it has a certificate."""
    its = MailServer(certificate, login)
    handler = type("Session", (_Session,), {"its": its})
    with _Server(("127.0.0.1", 0), handler) as server:
        its.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield its
        finally:
            its.leave.set()
            server.shutdown()
