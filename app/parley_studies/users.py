"""Names for kinds of simulated users in packages with the entry points `parley.users`."""

from app.bots.users.base import Ask, UnusableReply, User, UserAction, UserFactory
from app.bots.users.chat_user import ChatTask, ChatUser
from app.bots.users.random import Random
from app.bots.users.registry import user
from experiments.study.screen import Screen
from experiments.study.sections.two_step_simulator import Prompt

__all__ = [
    "Ask",
    "ChatTask",
    "ChatUser",
    "Prompt",
    "Random",
    "Screen",
    "UnusableReply",
    "User",
    "UserAction",
    "UserFactory",
    "user",
]
