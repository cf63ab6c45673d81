"""The channels of reminders by a deployment's settings; and reminders as messages of Prolific."""

from __future__ import annotations

from collections.abc import Callable

from app.config.settings import Settings, env_name
from app.errors import NotDelivered, RecruiterDenied, RecruiterError, RecruiterRejected, SettingsError
from app.recruiters.prolific import Prolific, prolific_client
from app.session.reminders.channels import Failure, ReminderChannel, WebhookChannel
from app.session.reminders.message import ReminderMessage
from experiments.study.sections.reminders import Channel
from experiments.study.study import Study
from storage.db.engine import Database
from storage.payments.recruiter_acts import acts, recruited_studies
from storage.registers.contacts import PROLIFIC


class ProlificChannel:
    """Messages of Prolific to participants of the studies that Parley made there."""

    def __init__(self, client: Callable[[], Prolific], database: Database) -> None:
        self._client, self._database = client, database

    def open(self) -> None:
        try:
            with self._client():
                pass
        except RecruiterDenied as error:
            raise NotDelivered(str(error)) from None

    def send(self, message: ReminderMessage) -> Failure | None:
        """Of several studies under the newest for which Prolific takes it: a person took part in one of them."""
        failure: Failure | None = Failure("not_recruited", certain=True)
        for study in recruited_studies(acts(self._database, message.study.name).values()):
            failure = self._send(message, study)
            if failure is None or failure.cause != RecruiterRejected.__name__:
                break
        return failure

    def _send(self, message: ReminderMessage, study: str) -> Failure | None:
        try:
            body = f"{message.subject}\n\n{message.plain}\n{message.end}"
            with self._client() as client:
                client.send_message([message.recipient.to], body, study)
        except RecruiterError as error:
            down, certain = not isinstance(error, RecruiterRejected), not error.uncertain
            return Failure(type(error).__name__, certain=certain, again=certain and down, down=down)
        return None

    def close(self) -> None: ...


def reminder_channels(
    settings: Settings, database: Database, now_us: Callable[[], int]
) -> dict[Channel, ReminderChannel]:
    """Those for which there are settings. Raises SettingsError if they do not go together."""
    found: dict[Channel, ReminderChannel] = {"prolific": ProlificChannel(lambda: prolific_client(settings), database)}
    if settings.mail_host:
        from app.session.reminders.mail import MailChannel

        found["mail"] = MailChannel(settings)
    if (hook := settings.reminder_webhook_url) is not None:
        secret = settings.reminder_webhook_secret
        if secret is None:
            raise SettingsError(f"{env_name('reminder_webhook_secret')} is missing: it signs what is posted")
        found["webhook"] = WebhookChannel(hook.get_secret_value(), secret.get_secret_value(), now_us)
    return found


def unsendable_reminders(study: Study, settings: Settings) -> list[tuple[str, str]]:
    """List the reminders of a study that cannot be sent with these settings, with advice."""
    token = settings.prolific_token or settings.find_server(PROLIFIC)
    needed = {
        "mail": (settings.mail_host, f"Set {env_name('mail_host')} and {env_name('mail_from')}"),
        "webhook": (settings.reminder_webhook_url, f"Set {env_name('reminder_webhook_url')}"),
        "prolific": (token, f"Set {env_name('prolific_token')}, or enter it in the console, under Model servers"),
    }
    found = []
    for channel in study.file.reminders.channels if study.file.reminders else ():
        setting, to_do = needed[channel]
        if not setting:
            found.append((f"Reminders of {study.name} cannot be sent by {channel} from here.", f"{to_do}."))
    return found
