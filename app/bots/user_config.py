"""The simulated user that plays a study's participants: its kind, and the model that speaks for it.

All of it is kept in the fact `enrolled` of each session, as `user`, so that rows of simulated users can be told apart;
a session that is resumed goes on with what its fact says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.backends.model_ref import ModelRef
from app.bots.users.base import User
from app.bots.users.chat_user import ChatUser
from app.bots.users.random import Random
from app.bots.users.registry import USERS, Kind
from app.errors import UserUnknown
from app.session.replies.request import SCRIPTED, without_servers
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.study import Study
from storage.reports.costs import SIMULATED_PREFIX

# A simulator's. (ChatBench's.)
TEMPERATURE = 1.0
# The longest reply of a simulator whose model says nothing else. (ChatBench's.)
MAX_TOKENS = 1000
# The shares of people who come late to a wave of a study, and who do not come.
LATE = NEVER = 0.1


@dataclass(frozen=True, slots=True)
class SimulatedUserConfig:
    """A kind of user, and whether the scripted model replies. `late` and `never` are shares of people at waves."""

    kind: Kind
    asked: ModelRef | None = None
    temperature: float = TEMPERATURE
    scripted: bool = False
    late: float = 0
    never: float = 0

    @property
    def label(self) -> str:
        """A label that keeps its sessions apart from those of others under the same seed; empty for the random one."""
        models = f":{SCRIPTED}" if self.scripted else ""
        if self.asked is None:
            return models
        who = self.asked.identity()
        user = f":{self.kind.name}:{who['backend']}:{who['server'] or ''}:{self.asked.name}:{self.temperature:g}"
        return user + models

    @property
    def model(self) -> str:
        return f"{SIMULATED_PREFIX}{self.asked.label}" if self.asked else ""

    def enrolled_data(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"kind": self.kind.name}
        if self.asked is not None:
            found |= {"model": self.asked.label, "name": self.asked.name, **self.asked.identity()}
            found |= {"temperature": self.temperature}
        return {"user": found, **({"models": SCRIPTED} if self.scripted else {})}

    def called(self, study: Study) -> tuple[ModelSpec, ...]:
        replying = without_servers(study) if self.scripted else study
        return (*replying.file.models.values(), *([self.asked.model] if self.asked else []))

    def user(self, study: Study, seed: str) -> User:
        found = self.kind.made(seed)
        if isinstance(found, ChatUser) and study.file.simulator_prompts is not None:
            found.prompts = study.file.simulator_prompts
        return found

    def speaking(self, study: Study) -> Study:
        """The study with the model that speaks for the user as its only one: what asks models knows them by a study."""
        if self.asked is None:
            return study
        model = self.asked.model
        speaker = model.model_copy(
            update={
                "model": self.asked.name,
                "temperature": self.temperature,
                "max_tokens": model.max_tokens or MAX_TOKENS,
                "fallback": (),
            }
        )
        file = study.file.model_copy(update={"models": {self.model: speaker}, "on_identity_leak": "flag"})
        return replace(study, file=file)


def read_user_config(
    kind: str,
    model: ModelRef | None = None,
    temperature: float | None = None,
    *,
    scripted: bool = False,
    late: float = LATE,
    never: float = NEVER,
) -> SimulatedUserConfig:
    """The user and its settings; raises UserUnknown for an unknown kind, or settings missing or unused."""
    found = USERS.find(kind)
    if found.model and model is None:
        raise UserUnknown(f"{kind!r} needs a model: --user-model MODEL")
    if not found.model and (model is not None or temperature is not None):
        raise UserUnknown(f"{kind!r} uses no model: leave out --user-model and --user-temperature")
    warmth = TEMPERATURE if temperature is None else temperature
    return SimulatedUserConfig(found, model, warmth, scripted, late, never)


RANDOM = SimulatedUserConfig(Kind("random", Random))
