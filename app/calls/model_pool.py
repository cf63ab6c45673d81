"""The models at work: a backend for each server, and for each model a rate limiter and a circuit breaker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.backends import registry
from app.backends.base import Backend, Sleep
from app.calls.circuit_breaker import CircuitBreaker
from app.calls.rate_limit import RateLimiter
from app.clock import Clock
from app.config.model_servers import Server
from app.config.settings import Settings
from experiments.study.sections.model_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The state that all calls of one model on one server share, and the study's name for the model."""

    label: str
    model: ModelSpec
    backend: Callable[[], Backend]
    """Raises SettingsError or BackendRejected where the backend cannot be made."""
    limiter: RateLimiter
    breaker: CircuitBreaker


class ModelPool:
    """All models of one process; those of one server share its connections. `sleep` is how backends wait that play.

    The rates are those of each model, in place of what is set for its server.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        sleep: Sleep,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._settings, self._clock, self._sleep = settings, clock, sleep
        self._limits = requests_per_minute, tokens_per_minute
        self._backends: dict[tuple[str, str | None], tuple[Server | None, Backend]] = {}
        self._replaced: list[Backend] = []
        self._known: dict[tuple[str, str | None, str], tuple[RateLimiter, CircuitBreaker]] = {}

    def access(self, label: str, model: ModelSpec) -> ModelAccess:
        """The access to a model; studies that use one model share its rate limit and circuit breaker."""
        key = (model.backend, model.server, model.model or label)
        if key not in self._known:
            pause_s, failures = self._settings.breaker_pause_s, self._settings.breaker_failures
            self._known[key] = self._limiter(model), CircuitBreaker(self._clock, failures, pause_s)
        return ModelAccess(label, model, lambda: self.backend(model), *self._known[key])

    def backend(self, model: ModelSpec) -> Backend:
        """The backend of a model's server as it is now; raises SettingsError or BackendRejected where it cannot be
        made. One whose server was changed is kept for the replies that it is still reading."""
        key = (model.backend, model.server)
        server = self._settings.find_server(model.server) if model.server else None
        known = self._backends.get(key)
        if known is None or known[0] != server:  # an owner has given the server another address or key
            self._backends[key] = server, registry.create(model.backend, self._settings, self._sleep, model.server)
            self._replaced += [known[1]] if known else []
        return self._backends[key][1]

    def prepare(self, model: ModelSpec, label: str) -> None:
        """Make and prepare the backend of a model; raises SettingsError or a BackendError."""
        self.backend(model).prepare(model.model or label)

    def _limiter(self, model: ModelSpec) -> RateLimiter:
        """The limits that were asked for, or else those that are set for the model's server."""
        server = self._settings.model_servers.get(model.server or "")
        set_by = (server.requests_per_minute, server.tokens_per_minute) if server else (None, None)
        requests, tokens = (own or known for own, known in zip(self._limits, set_by, strict=True))
        return RateLimiter(requests, tokens)

    async def close(self) -> None:
        for backend in (*self._replaced, *(backend for _, backend in self._backends.values())):
            await backend.close()
