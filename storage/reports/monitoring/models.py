"""The use of a study's models in the sessions of an origin, and the speed of their last replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from storage import tables
from storage.log.seats import PEOPLE
from storage.reports.costs import SIMULATED_PREFIX

MOST_RECENT = 500
_used, _try = tables.usage.c, tables.attempts.c


@dataclass(frozen=True, slots=True)
class ModelCallSummary:
    """The calls of a model, added up; `unknown` are replies of unknown cost, the times are those of replies."""

    model: str
    cost: float
    calls: int
    failed: int
    unknown: int
    prompt_tokens: int
    completion_tokens: int
    first_token_us: int
    total_us: int

    @property
    def first_word_s(self) -> float | None:
        """Seconds until a reply's first word, on average; None where none came."""
        return self._mean(self.first_token_us)

    @property
    def whole_s(self) -> float | None:
        return self._mean(self.total_us)

    def _mean(self, sum_us: int) -> float | None:
        replies = self.calls - self.failed
        return sum_us / replies / 1e6 if replies else None


@dataclass(frozen=True, slots=True)
class Latency:
    """The seconds that half of the `replies` and 95 in 100 took at most: to the first word, and in all."""

    replies: int
    first_word_p50_s: float
    first_word_p95_s: float
    whole_p50_s: float
    whole_p95_s: float


def used(connection: Connection, study: str, origin: str) -> tuple[ModelCallSummary, ...]:
    """Each model that was called, dearest first."""
    found = (_read(*row) for row in connection.execute(_USED, {"study": study, "origin": origin}))
    return tuple(sorted(found, key=lambda one: (-one.cost, one.model)))


def _read(model: str, cost: float, *sums: int) -> ModelCallSummary:
    """A row as it is: PostgreSQL adds whole numbers up to decimals."""
    return ModelCallSummary(model, float(cost), *map(int, sums))


_SUMS = ("cost", "calls", "failed", "unknown", "prompt_tokens", "completion_tokens", "first_token_us", "total_us")
_USED = (
    select(_used.model, *(func.sum(_used[name]) for name in _SUMS))
    .where(_used.study == bindparam("study"), _used.origin == bindparam("origin"))
    .group_by(_used.model)
)


def spent(connection: Connection, study: str) -> float:
    """Spent of the study's budget, as far as costs are known."""
    return float(connection.execute(_SPENT, {"study": study}).scalar_one())


_SPENT = select(func.coalesce(func.sum(_used.cost), 0.0)).where(
    _used.study == bindparam("study"), _used.origin.in_(PEOPLE)
)


def recent(connection: Connection, study: str, origin: str) -> Mapping[str, Latency]:
    """The latency of each model over the last calls in the study's sessions of an origin."""
    first: dict[str, list[int]] = {}
    whole: dict[str, list[int]] = {}
    for model, first_us, total_us, reason in connection.execute(_RECENT, {"study": study, "origin": origin}):
        if reason is None:
            first.setdefault(model, []).append(total_us if first_us is None else first_us)
            whole.setdefault(model, []).append(total_us)
    return {
        model: Latency(len(times), *_quantiles(times), *_quantiles(whole[model]))
        for model, times in sorted(first.items())
    }


_session = tables.sessions.c
_RECENT = (
    select(_try.model, _try.first_token_us, _try.total_us, _try.reason)
    .join(tables.sessions, _session.stream == _try.stream)
    .where(_try.study == bindparam("study"), _try.cell.is_(None), _session.origin == bindparam("origin"))
    .order_by(_try.started_us.desc())
    .limit(MOST_RECENT)
)


def calls_since(connection: Connection, since_us: int) -> dict[tuple[str, str, str], dict[str | None, int]]:
    """The calls by study, origin and model, then by reason of failure (None: replies); without simulated users."""
    found: dict[tuple[str, str, str], dict[str | None, int]] = {}
    studies = connection.execute(select(tables.studies.c.name).distinct()).scalars().all()
    for study, origin, model, reason, number in connection.execute(_CALLS, {"studies": studies, "since_us": since_us}):
        found.setdefault((study, origin, model), {})[reason] = number
    return found


_CALLS = (
    select(_try.study, _session.origin, _try.model, _try.reason, func.count())
    .join(tables.sessions, _session.stream == _try.stream)
    .where(
        _try.study.in_(bindparam("studies", expanding=True)),  # so that the index serves
        _try.started_us >= bindparam("since_us"),
        _try.cell.is_(None),
        _try.model.not_like(f"{SIMULATED_PREFIX}%"),
        _session.origin.in_(PEOPLE),
    )
    .group_by(_try.study, _session.origin, _try.model, _try.reason)
)


def _quantiles(times_us: Sequence[int]) -> tuple[float, float]:
    """The median and the 95th percentile, in seconds."""
    ordered, last = sorted(times_us), len(times_us) - 1
    return ordered[last // 2] / 1e6, ordered[-(-last * 95 // 100)] / 1e6
