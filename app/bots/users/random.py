"""A user that acts at random, within the allowed actions, as the checker's bots do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bots.random_bot import RandomBot
from app.bots.users.base import Ask, UserAction
from app.bots.users.registry import user
from experiments.study.screen import Screen


@user("random")
class Random:
    """Does something allowed on any screen, by chance and by tendencies of its own; asks no model."""

    def __init__(self, seed: str) -> None:
        self._bot = RandomBot(seed, person=seed.rpartition(":")[0])

    def seconds(self, screen: Screen, values: Mapping[str, Any]) -> float:
        return self._bot.seconds(screen, values)

    async def act(self, screen: Screen, ask: Ask) -> UserAction:
        return self.by_chance(screen)

    def by_chance(self, screen: Screen) -> UserAction:
        kind, values = self._bot.act(screen)
        return UserAction(kind, values, by_chance=True)
