"""Measures of a screen of a session: how long it was shown, by the events, and what the page reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.session.timing import LEAVING_EVENTS, shown_us
from experiments.study.location import Location


@dataclass(frozen=True, slots=True)
class ClientMeasures:
    """The pages' measures of a screen, summed over its visits; None where they reported nothing."""

    visible_s: float | None = None
    reading_s: float | None = None
    typing_s: float | None = None
    first_key_s: float | None = None
    pasted: int | None = None
    pasted_chars: int | None = None
    blocked: int | None = None
    copied: int | None = None
    left: int | None = None
    away_s: float | None = None


def seconds_shown(location: Location) -> float | None:
    """The time until the screen was left; None if it was not left."""
    left = next((fact for fact in location.facts if fact.kind in LEAVING_EVENTS), None)
    return None if left is None else (left.at_us - shown_us(location)) / 1e6


def added_up(records: Iterable[Mapping[str, Any]]) -> ClientMeasures:
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_kind.setdefault(record["kind"], []).append(record)
    if not by_kind:
        return ClientMeasures()
    visits, pasted = by_kind.get("screen", []), by_kind.get("pasted", [])
    return ClientMeasures(
        visible_s=_sum_s(visits, "visible_ms"),
        reading_s=_sum_s(visits, "reading_ms"),
        typing_s=_sum_s(visits, "typing_ms"),
        first_key_s=_first_key_s(visits),
        pasted=sum(not record["blocked"] for record in pasted),
        pasted_chars=sum(record["chars"] for record in pasted if not record["blocked"]),
        blocked=sum(record["blocked"] for record in pasted),
        copied=len(by_kind.get("copied", [])),
        left=len(by_kind.get("left", [])),
        away_s=_sum_s(by_kind.get("came_back", []), "away_ms"),
    )


def _sum_s(records: Iterable[Mapping[str, Any]], name: str) -> float:
    return float(sum(record[name] for record in records)) / 1000


def _first_key_s(visits: Iterable[Mapping[str, Any]]) -> float | None:
    """Since the screen was first shown; the time between two visits of it, when it was on no page, does not count."""
    before = 0
    for visit in visits:
        if "first_key_ms" in visit:
            return float(before + visit["first_key_ms"]) / 1000
        before += visit["shown_ms"]
    return None
