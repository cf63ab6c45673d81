"""The text of a reminder in a person's language, plain and as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.i18n.catalogues import catalogue
from experiments.session.reminders import NextReminder
from experiments.session.seeded_random import public_id
from experiments.study.sections.waves import local_time, zone_of
from experiments.study.study import Study
from experiments.study.texts import fill, names

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)
WHY = "You asked to be reminded of this study by mail. Your address is used for nothing else."


@dataclass(frozen=True, slots=True)
class RemindedPerson:
    """A person who is reminded: `to` is the mail address or the recruiter's id, and empty for a webhook."""

    person: str
    zone: str
    language: str
    to: str
    link: str
    unsubscribe: str


@dataclass(frozen=True)
class ReminderMessage:
    study: Study
    reminder: NextReminder
    recipient: RemindedPerson

    @property
    def key(self) -> str:
        """Another one for each person and attempt."""
        return sha256(f"{self.recipient.person}\n{self.reminder.key}".encode()).hexdigest()[:32]

    @property
    def facts(self) -> Mapping[str, str]:
        """The body that is posted; the person by the id that exports have."""
        person = public_id(self.recipient.person, "person")
        about = {"study": self.study.name, "person": person, "wave": self.reminder.window.wave}
        return {**about, "kind": self.reminder.reminder.when, "link": self.recipient.link}

    @cached_property
    def subject(self) -> str:
        return " ".join(self._filled(self.reminder.reminder.subject).split())

    @cached_property
    def paragraphs(self) -> tuple[str, ...]:
        text, say = self.reminder.reminder.text, catalogue(self.recipient.language)
        found = [part.strip() for part in re.split(r"\n\s*\n", self._filled(text))]
        if self._closes and "closes" not in names(text):
            found.append(say("You can take part until {time}.", time=self._closes))
        return tuple(filter(None, found))

    @property
    def plain(self) -> str:
        own = self.recipient.link
        return "\n\n".join([*self.paragraphs, *([] if own in "".join(self.paragraphs) else [own])]) + "\n"

    @property
    def mail_text(self) -> str:
        say, contact = catalogue(self.recipient.language), self._contact
        questions = say("Questions? Write to {contact}.", contact=contact) if contact else ""
        return "\n".join(filter(None, (f"{self.plain}\n-- ", say(WHY), self.end, questions))) + "\n"

    @property
    def end(self) -> str:
        return f"{catalogue(self.recipient.language)('No more reminders')}: {self.recipient.unsubscribe}"

    @property
    def _closes(self) -> str:
        closes_us = self.reminder.window.closes_us
        zone = zone_of(self.recipient.zone)
        if closes_us is None:
            return ""
        # isolated, or its parts would be turned round in a text from right to left
        return f"\u2066{local_time(closes_us, zone):%Y-%m-%d %H:%M} ({zone.key})\u2069"

    def _filled(self, text: str) -> str:
        language, wave = self.recipient.language, self.reminder.window.wave
        names = {"study": self.study.file.title, "wave": next(one.wave for one in self.study.waves if one.id == wave)}
        values = {name: self.study.translate(said, language) for name, said in names.items()}
        values |= {"closes": self._closes, "link": self.recipient.link}
        return fill(self.study.translate(text, language), values.__getitem__)

    @property
    def _contact(self) -> str:
        return self.study.translate(self.study.file.contact, self.recipient.language)

    @property
    def mail_html(self) -> str:
        link, said = escape(self.recipient.link), map(escape, self.paragraphs)
        anchor = Markup('<a href="{0}">{0}</a>').format(link)
        return _TEMPLATES.get_template("mail.html.j2").render(
            t=catalogue(self.recipient.language),
            message=self,
            title=self.study.translate(self.study.file.title, self.recipient.language),
            contact=self._contact,
            why=WHY,
            paragraphs=[text.replace(link, anchor).replace("\n", Markup("<br>")) for text in said],
        )
