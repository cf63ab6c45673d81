"""The models at work: a backend for each server, made once, and a breaker for each model."""

from __future__ import annotations

from app.backends import registry
from app.backends.base import Backend, Prepared
from app.clock import Clock
from app.replies.breaker import Breaker
from app.settings import Settings
from experiments.core.model import Model
from experiments.core.resolve import Study


class Models:
    """Backends and breakers of all studies; models of one server share its connections."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._backends: dict[tuple[str, str | None], Backend] = {}
        self._breakers: dict[tuple[str, str | None, str], Breaker] = {}

    def make_ready(self, model: Model) -> None:
        """Make a model's backend, so that a missing setting is told now; raises SettingsError."""
        backend = self._backend(model)
        if isinstance(backend, Prepared):
            backend.prepare(model.options)

    def backend_of(self, study: Study, model: str) -> Backend:
        """The backend of one of a study's models."""
        return self._backend(study.model(model))

    def breaker_of(self, study: Study, model: str) -> Breaker:
        """The breaker of one of a study's models, which is that of the same model in any other."""
        found = study.model(model)
        key = (found.backend, found.server, found.model or model)
        if key not in self._breakers:
            pause_s, failures = self._settings.breaker_pause_s, self._settings.breaker_failures
            self._breakers[key] = Breaker(self._clock, failures, pause_s)
        return self._breakers[key]

    async def close(self) -> None:
        """Close all connections."""
        for backend in self._backends.values():
            await backend.close()

    def _backend(self, model: Model) -> Backend:
        key = (model.backend, model.server)
        if key not in self._backends:
            self._backends[key] = registry.create(model.backend, self._settings, self._clock.sleep, model.server)
        return self._backends[key]
