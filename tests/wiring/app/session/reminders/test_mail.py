"""Mails at a real socket: what they hold, and what is known where a mail server refuses, hangs or lets go."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.config.settings import Settings
from app.errors import NotDelivered, SettingsError
from app.session.reminders import mail
from app.session.reminders.channels import Failure
from app.session.reminders.mail import MailChannel
from app.session.reminders.message import RemindedPerson, ReminderMessage
from experiments.session.reminders import next_reminder
from tests.fakes.certificate import self_signed
from tests.fakes.mail_server import OVER, MailServer, mail_server
from tests.fakes.reminders import FIRST_US, history, study

DAY_US = 86_400_000_000
TO = "ada@example.org"
# How long a server that hangs is waited for here: all that does not hang must be quicker, also on a busy machine.
HANG_S = 2.0


def message(language: str = "en") -> ReminderMessage:
    found = next_reminder(study(), history(), (), ["mail"], FIRST_US + 7 * DAY_US)
    assert found is not None
    link = f"https://study.example.org/s/weeks?{'x' * 120}"
    recipient = RemindedPerson("ab" * 16, "UTC", language, TO, link, f"https://study.example.org/reminders/{'y' * 90}")
    return ReminderMessage(study(), found, recipient)


def settings(server: MailServer, **more: Any) -> Settings:
    known = {"mail_host": "127.0.0.1", "mail_port": server.port, "mail_from": "Lab Ä <lab@example.org>"}
    return Settings.model_validate({"mail_security": "none", **known, **more})


def channel(server: MailServer, **more: Any) -> MailChannel:
    return MailChannel(settings(server, **more))


def test_a_mail_has_both_forms_the_link_and_one_click_to_unsubscribe() -> None:
    with mail_server() as server:
        its = channel(server)
        its.open()
        assert its.send(message()) is None
        its.open()
        assert its.send(message("ar")) is None
        its.close()
    assert server.connections == 1
    for (to, raw), said in zip(server.taken, (message(), message("ar")), strict=True):
        (found,) = [one for one in server.mails if one["Content-Language"] == said.recipient.language]
        assert (to, found["To"], found["Subject"]) == (TO, TO, said.subject)
        # a program reads these as they stand, so they are neither folded nor encoded
        assert f"\r\nList-Unsubscribe: <{said.recipient.unsubscribe}>\r\n".encode() in raw
        assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw
        plain, html = (found.get_body([form]) for form in ("plain", "html"))
        assert plain is not None
        assert html is not None
        assert found.get_content_type() == "multipart/alternative"
        for part in (plain.get_content(), html.get_content()):
            assert all(text in part for text in (said.recipient.link, said.recipient.unsubscribe, *said.paragraphs))
        assert (' dir="rtl"' in html.get_content()) == (said.recipient.language == "ar")


@pytest.mark.parametrize(
    ("answers", "failure", "taken"),
    [
        ({"MAIL": "451 later"}, Failure("smtp_451", certain=True, again=True), 0),
        ({"RCPT": "450 greylisted"}, Failure("smtp_450", certain=True, again=True), 0),
        ({"RCPT": f"550 no {TO} here"}, Failure("smtp_550", certain=True), 0),
        ({"RCPT": "drop"}, Failure("SMTPServerDisconnected", certain=True, again=True), 0),
        ({"DATA": "554 no"}, Failure("smtp_554", certain=True), 0),
        ({OVER: "452 full"}, Failure("smtp_452", certain=True, again=True), 1),
        ({OVER: "554 spam"}, Failure("smtp_554", certain=True), 1),
        ({OVER: "drop"}, Failure("SMTPServerDisconnected", certain=False), 1),
        ({OVER: "hang"}, Failure("SMTPServerDisconnected", certain=False), 1),
    ],
    ids=lambda value: "-".join(f"{key}-{said[:4]}" for key, said in value.items()) if isinstance(value, dict) else "",
)
def test_what_a_server_did_not_take_is_told_from_what_it_may_have(
    answers: dict[str, str], failure: Failure, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "WITHIN_S", HANG_S if "hang" in answers.values() else 30)
    with mail_server() as server:
        server.answers = dict(answers)
        with closing(channel(server)) as its:
            its.open()
            found = its.send(message())
            assert (found, len(server.taken)) == (failure, taken)
            server.answers.clear()
            its.open()
            assert its.send(message()) is None, "the next one goes, on a new connection if need be"


@pytest.mark.parametrize("answer", ["drop", "554 no service", "hang"])
def test_a_server_that_does_not_serve_is_noticed_before_anything_is_sent(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "WITHIN_S", HANG_S if answer == "hang" else 30)
    with mail_server() as server:
        server.answers["HELLO"] = answer
        with pytest.raises(NotDelivered):
            channel(server).open()
    with pytest.raises(NotDelivered):
        channel(server).open()  # nobody listens there any more


def test_the_password_goes_over_an_encrypted_connection_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = self_signed(tmp_path / "mail.pem")
    login = {"mail_user": "lab", "mail_password": SecretStr("secret")}
    with mail_server(certificate, ("lab", "secret")) as server:
        with pytest.raises(NotDelivered):
            channel(server, mail_security="starttls", **login).open()  # an authority that nobody trusts
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with closing(channel(server, mail_security="starttls", **login)) as its:
            its.open()
            assert its.send(message()) is None
        with pytest.raises(NotDelivered) as caught:
            channel(server, mail_security="starttls", mail_user="lab", mail_password="wrong").open()
        assert "wrong" not in str(caught.value)
    with mail_server(login=("lab", "secret")) as server, pytest.raises(NotDelivered):
        channel(server, mail_security="starttls", **login).open()  # it offers no encryption


@pytest.mark.parametrize(
    "wrong", [{"mail_from": ""}, {"mail_host": "mail.example.org"}, {"mail_user": "lab"}, {"mail_password": "x"}]
)
def test_settings_that_do_not_go_together_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        channel(MailServer(port=1), **wrong)
