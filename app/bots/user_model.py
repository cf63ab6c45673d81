"""The voice of a simulated user: its model, asked through the runtime, so that each attempt is kept and paid for apart.

A reply that cannot be read is asked for once more, with what is wrong; then the session stops. Nothing is put in its
place, so what the log holds was said by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from app.bots.users.base import UnusableReply
from app.errors import UserFailed
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from experiments.events import PendingTask
from experiments.study.study import Study
from storage.reports.costs import USER

T = TypeVar("T")
TRIES = 2
UNREACHED = ("connection", "timeout_connect")
"""The reasons of errors by which no server was reached."""
AGAIN = "That cannot be used. {why}"
TOLD_CHARS = 200
"""How many characters of an unreadable reply are reported."""


@dataclass
class UserModel:
    """The model `model` of `study`, which speaks for the user of a session."""

    runtime: SessionService
    study: Study
    model: str
    live: LoadedSession
    """The session as it is now."""
    asked_before: int = 0
    """How often it was asked at the place where a session is resumed; so another reply is drawn there, not the same."""
    resumed_at: int = 0
    """The number of the last fact there."""

    async def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        read: Callable[[str], T],
        schema: Mapping[str, Any] | None = None,
    ) -> T:
        """What `read` makes of the reply; raises UserFailed where there is none, or none that can be read."""
        said = list(messages)
        fault = ""
        for number in range(TRIES):
            text = await self._reply(said, number, schema)
            try:
                return read(text)
            except UnusableReply as unusable:
                fault = f"{unusable} It said: {text[:TOLD_CHARS]!r}"
                again = {"role": "user", "text": AGAIN.format(why=unusable)}
                said += [{"role": "assistant", "text": text}, again]
        raise UserFailed(f"{self.model} at {self.live.screen.path}, {TRIES} attempts: {fault}")

    async def _reply(self, said: Sequence[Mapping[str, str]], number: int, schema: Mapping[str, Any] | None) -> str:
        state, path = self.live.state, self.live.screen.path
        number += self.asked_before if state.seq == self.resumed_at else 0
        data = {
            "model": self.model,
            "messages": list(said),
            "schema": schema,
            "seed": f"{state.seed}:{path}:{state.seq}:{USER}:{number}",
        }
        attempt = await self.runtime.ask_separately(self.live, self.study, PendingTask("reply", path, data, slot=USER))
        if (error := attempt.result.error) is not None:
            unreached = str(error) if error.reason in UNREACHED else ""
            raise UserFailed(f"{self.model} gave no reply at {path}: {error}", unreached)
        return attempt.result.text
