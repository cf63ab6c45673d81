"""Prometheus metrics of the participants' server, on a separate port that participants cannot reach.

Label values are fixed words from this module, and Parley's own reasons and outcomes; never a study, a text or a
person. Each process reports its own figures; those counted in the database are equal in all processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIServer

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.config.settings import Settings, env_name
from app.errors import SettingsError
from app.session.service import SessionService
from problems.errors import install_line
from storage.db.engine import Database
from storage.log.event_log import Log
from storage.log.write_requests import Append, AppendWithCounts, AttemptRow, DraftRow
from storage.reports.monitoring.sessions import outcomes_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

ROUTES = {
    "/": "page",
    "/api/act": "act",
    "/api/draft": "draft",
    "/api/look": "look",
    "/api/reply": "reply",
    "/api/preview": "preview",
    "/api/telemetry": "telemetry",
    "/out": "out",
}
PLACES = {"s": "start", "walk": "walk", "healthz": "healthz", "assets": "file", "static": "file", "parley": "file"}
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90)
LIVE_S = 300
"""How long after its last activity a session counts as live."""


def metrics_of(settings: Settings, database: Database) -> Metrics | None:
    """The metrics of a server, or None if the settings do not ask for them. Raises SettingsError if their
    requirements are missing."""
    if settings.metrics_port is None:
        return None
    try:
        return Metrics(settings, database)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{env_name('metrics_port')} is set, and {error.name} is not installed: {install_line('metrics')}"
        ) from error


class Metrics:
    """The metrics of one server. The server has to use `log` as its log; `around` measures its requests and opens the
    port."""

    def __init__(self, settings: Settings, database: Database) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

        self._settings, self._database = settings, database
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        common: Any = {"registry": self.registry}
        self.requests = Histogram(
            "parley_request_seconds",
            "Requests, until the answer begins.",
            ("route", "status"),
            buckets=SECONDS,
            **common,
        )
        self.committed = Histogram(
            "parley_commit_seconds", "From when work is queued until it is on the disk.", buckets=SECONDS, **common
        )
        self.first_token = Histogram(
            "parley_first_token_seconds", "Until a reply's first word.", buckets=SECONDS, **common
        )
        self.attempts = Counter(
            "parley_model_attempts",
            "Attempts to get a reply; the reason is empty where it came.",
            ("reason",),
            **common,
        )
        self.log = InstrumentedLog(database, self)

    def around(self, app: ASGIApp, runtime: SessionService) -> ASGIApp:
        """The application with its requests measured. The port is open from now until `close` or the process ends."""
        from prometheus_client import start_http_server

        self.registry.register(_Now(self._database, runtime))
        host, port = self._settings.metrics_host, self._settings.metrics_port
        try:
            server, thread = start_http_server(port or 0, host, self.registry)
        except OSError as error:
            raise SettingsError(
                f"Parley cannot serve its metrics on {host}:{port} ({error.strerror}). Choose another port: "
                f"{env_name('metrics_port')}=9464"
            ) from None
        return _Measured(app, self, server, thread)

    def take(self, attempt: AttemptRow) -> None:
        """Count an attempt to get a reply from a model."""
        values = attempt.values
        self.attempts.labels(values["reason"] or "").inc()
        if values["first_token_us"] is not None:
            self.first_token.observe(values["first_token_us"] / 1e6)


class InstrumentedLog(Log):
    """A log that measures how long its writes take."""

    def __init__(self, database: Database, measures: Metrics) -> None:
        super().__init__(database)
        self._measures = measures

    def append(self, work: Append) -> Future[None]:
        return self._timed(super().append(work))

    def append_counted(self, work: AppendWithCounts) -> Future[Append]:
        return self._timed(super().append_counted(work))

    def save_draft(self, work: DraftRow) -> Future[None]:
        return self._timed(super().save_draft(work))

    def record_attempt(self, work: AttemptRow) -> Future[None]:
        """Record an attempt, count it, and measure how long the commit takes."""
        self._measures.take(work)
        return self._timed(super().record_attempt(work))

    def _timed(self, future: Future[Any]) -> Future[Any]:
        began = time.perf_counter()
        future.add_done_callback(lambda _: self._measures.committed.observe(time.perf_counter() - began))
        return future


class _Measured:
    """Middleware that counts requests; the application's shutdown closes the port."""

    def __init__(self, app: ASGIApp, measures: Metrics, server: WSGIServer, thread: Thread) -> None:
        self._app, self._measures = app, measures
        self._server, self._thread = server, thread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            return
        began = time.perf_counter()

        async def measured_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                took_s = time.perf_counter() - began
                self._measures.requests.labels(_route(scope["path"]), message["status"]).observe(took_s)
            await send(message)

        await self._app(scope, receive, measured_send)


def _route(path: str) -> str:
    """The label for a path; "other" for paths that are not ours."""
    return ROUTES.get(path) or PLACES.get(path.split("/")[1] if "/" in path else "", "other")


class _Now:
    """Metrics that are read from the server and the database at each scrape."""

    def __init__(self, database: Database, runtime: SessionService) -> None:
        self._database, self._runtime = database, runtime

    def collect(self) -> Iterator[Metric]:
        """The current values."""
        from prometheus_client.core import GaugeMetricFamily

        live_us = self._runtime.now_us() - round(LIVE_S * 1e6)
        live, ended = outcomes_of(self._database, live_us)
        yield GaugeMetricFamily("parley_sessions_live", f"People heard of within {LIVE_S} s.", value=live)
        outcomes = GaugeMetricFamily("parley_sessions_ended", "People's sessions by outcome.", labels=["outcome"])
        for outcome, count in ended.items():
            outcomes.add_metric([outcome], count)
        yield outcomes
        on_the_way = self._runtime.replies_on_the_way()
        yield GaugeMetricFamily("parley_replies_on_the_way", "Replies that are being fetched here.", value=on_the_way)
        queued = self._runtime.log.waiting
        yield GaugeMetricFamily("parley_writer_queue", "Pieces of work that wait for the writer here.", value=queued)
