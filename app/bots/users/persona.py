"""A user that plays a persona: it fills forms as that person would, and talks about problems in two steps.

The form's fields are put to the model in words, its answer is one JSON object, and what a field does not accept is not
taken (app/bots/users/form_filling.py). Screens with nothing but boxes to tick, as a consent, are left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.bots.users import form_filling
from app.bots.users.base import Ask, UserAction
from app.bots.users.chat_user import ChatTask
from app.bots.users.registry import user
from app.bots.users.two_step import TwoStep
from experiments.study.fields import Checkbox, Field
from experiments.study.screen import Screen
from experiments.study.sections.two_step_simulator import Prompt

SYSTEM = (
    "You are a person who takes part in a study, and everything that you write is what this person would write. Stay "
    "with what is said of the person, and never say that you are playing or that you are an AI.\n\nThe person: {who}"
)


@user("persona", model=True, personas=True)
class PersonaUser(TwoStep):
    """Plays a persona: answers surveys, ratings and confidence as that person would, and talks in two steps."""

    def __init__(self, seed: str, persona: str) -> None:
        super().__init__(seed)
        self._who = SYSTEM.format(who=persona)

    async def act(self, screen: Screen, ask: Ask) -> UserAction:
        """The form filled, or what is said in a chat; by chance where there is neither."""
        kind, fields = form_of(screen)
        if not kind or all(isinstance(field, Checkbox) for field in fields):
            return await super().act(screen, ask)
        messages = ({"role": "system", "text": self._who}, {"role": "user", "text": form_filling.task(screen, fields)})
        values = await ask(
            messages, lambda reply: form_filling.read_answers(fields, reply), form_filling.schema(fields)
        )
        return UserAction(kind, values)

    def first(self, talk: ChatTask) -> Prompt:
        return self._as_person(super().first(talk))

    def following(self, talk: ChatTask) -> Prompt:
        return self._as_person(super().following(talk))

    def last(self, talk: ChatTask) -> Prompt:
        return self._as_person(super().last(talk))

    def _as_person(self, prompt: Prompt) -> Prompt:
        system, *others = prompt
        return ({"role": "system", "text": f"{self._who}\n\n{system['text']}"}, *others)


def form_of(screen: Screen) -> tuple[str, Sequence[Field]]:
    """The action by which a form of this screen is sent, and its fields; nothing where there is a chat to be had."""
    chat, actions = screen.panel.chat, screen.actions
    if chat is not None:
        kind = next((kind for kind in ("rate", "vote") if kind in actions and chat.rating), "")
        return kind, chat.rating
    return ("submit", screen.panel.fields) if "submit" in actions else ("", ())
