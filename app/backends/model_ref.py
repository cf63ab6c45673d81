"""References to models on the command line: one of the study's by its name, or any by `backend:name[@server]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.backends import providers
from app.backends.providers import how_reached
from app.backends.registry import BACKENDS, check_server
from app.config.settings import env_name
from app.errors import ModelUnknown
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.study import Study
from problems.errors import did_you_mean

SERVERS = env_name("model_servers")


@dataclass(frozen=True, slots=True)
class ModelRef:
    label: str
    model: ModelSpec

    @property
    def name(self) -> str:
        return self.model.model or self.label

    def identity(self) -> Mapping[str, Any]:
        """The part of a key that identifies the model, beside the request."""
        return {"backend": self.model.backend, "server": self.model.server}


def parse_model_ref(study: Study | None, text: str) -> ModelRef:
    """The model of a text; without a study none of its own. Raises ModelUnknown with the allowed ones."""
    known = study.file.models if study is not None else {}
    if text in known:
        return ModelRef(text, known[text])
    backend, colon, rest = text.partition(":")
    if colon and rest and BACKENDS.has(backend):
        name, _, server = rest.partition("@")
        if faults := check_server(backend, server or None):
            raise ModelUnknown(f"{text!r}: {' '.join(faults)}")
        try:
            return ModelRef(name, ModelSpec(backend=backend, model=name, server=server or None))
        except ValidationError:
            raise ModelUnknown(f"{text!r}: {server!r} cannot be the name of a server in {SERVERS}.") from None
    server_of = providers.named(backend) if colon and rest else None
    hint = (
        f" Write {providers.BACKEND}:{rest.partition('@')[0]}@{server_of}.{how_reached(backend)}" if server_of else ""
    )
    raise ModelUnknown(
        f"{text!r} is not a model of the study; allowed: {', '.join(known) or 'none'}, or BACKEND:NAME[@SERVER] with "
        f"one of the backends {', '.join(BACKENDS.all())}.{did_you_mean(text, known) or hint}"
    )
