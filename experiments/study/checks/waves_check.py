"""Errors of meaning in a study's `waves`: two openings, unknown waves, windows that nobody can ever meet."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.errors import ValidationIssue, suggestion
from experiments.study.schema import StudyFile, Wave
from experiments.study.sections.recruitment import days_of
from experiments.study.sections.waves import Opening, later_us, opening_us, span_of, zone_of
from experiments.study.study import Study

# Where it is a date last, and first: 26 hours apart.
WEST, EAST = zone_of("Etc/GMT+12"), zone_of("Etc/GMT-14")


def waves_faults(study: Study) -> Iterator[ValidationIssue]:
    file = study.file
    if file.waves is None:
        return
    if file.flow:
        yield ValidationIssue("waves", "the study has a `flow` as well; keep one of them")
    if not file.waves:
        yield ValidationIssue("waves", "has no wave; write at least one, with its `flow`")
    for number, wave in enumerate(file.waves):
        at = f"waves[{number}]"
        yield from _first(wave, at) if number == 0 else _opening(wave, file.waves[:number], f"{at}.opens")
        if wave.open_for is None and (wave.grace or wave.missed != "go_on"):
            yield ValidationIssue(f"{at}.open_for", "is needed for `grace` and `missed`: else it never closes")
        if not wave.wave.strip():
            yield ValidationIssue(f"{at}.wave", "is blank, and participants need to read it; write a text")
        if wave.id in [other.id for other in file.waves[:number]]:
            yield ValidationIssue(at, f"{wave.id!r} is the id of an earlier wave; give one of them another `id`")
        yield from _own_factors(study, number, f"{at}.factors")
    yield from _never_open(file.waves)
    yield from _erased_before(file)


def _first(wave: Wave, at: str) -> Iterator[ValidationIssue]:
    if wave.opens is not None:
        yield ValidationIssue(f"{at}.opens", "the first wave opens with the study; leave it out")
    if wave.missed != "go_on":
        yield ValidationIssue(f"{at}.missed", "no one can continue without completing the first wave; leave it out")


def _opening(wave: Wave, earlier: tuple[Wave, ...], at: str) -> Iterator[ValidationIssue]:
    opening, ids = wave.opens or Opening(), [other.id for other in earlier]
    if opening.after and opening.on:
        yield ValidationIssue(at, "has both `after` and `on`; keep one")
    if wave.opens and not opening.after and not opening.on:
        yield ValidationIssue(at, "needs `after` (a time, such as `7 days`) or `on` (a date, such as 2027-03-01)")
    if opening.on and (opening.of or opening.since != "end"):
        yield ValidationIssue(at, "has `on`, so nothing is counted `since` or `of` another wave; leave that out")
    if opening.at and opening.after and not span_of(opening.after)[0]:
        yield ValidationIssue(f"{at}.at", "needs `after` in days or weeks: it is the hour of that day")
    if opening.of and opening.of not in ids:
        yield ValidationIssue(f"{at}.of", f"{opening.of!r} is not an earlier wave{suggestion(opening.of, ids)}")


def _own_factors(study: Study, number: int, at: str) -> Iterator[ValidationIssue]:
    others = dict.fromkeys(study.factors, "the study")
    others |= {name: wave.wave for wave in study.waves[:number] for name in wave.factors}
    for name in study.waves[number].factors:
        if name in others:
            yield ValidationIssue(f"{at}.{name}", f"is a factor of {others[name]} as well; give it another name")


def _never_open(waves: tuple[Wave, ...]) -> Iterator[ValidationIssue]:
    """Waves that close before an earlier one can open: by the first moment at which it can, anywhere on earth."""
    first: dict[str, int] = {}
    for number, wave in enumerate(waves):
        opening = wave.opens or Opening()
        before = max(first.values(), default=0)
        if opening.on is None:
            since = first.get(opening.of, before) if opening.of else before
            first[wave.id] = opening_us(opening, since, EAST) if since else 0
            continue
        first[wave.id] = opening_us(opening, 0, EAST)
        if wave.open_for is None:
            continue
        over_us = later_us(later_us(opening_us(opening, 0, WEST), wave.open_for, WEST), wave.grace, WEST)
        if over_us <= before:
            words = f"it is over before {waves[number - 1].wave!r} or a wave before that opens; nobody can take it"
            yield ValidationIssue(f"waves[{number}].opens.on", words)


def past_openings(study: Study, now_us: int) -> Iterator[str]:
    """Yield advice on dates that are past everywhere on earth."""
    for number, wave in enumerate(study.waves):
        if wave.opens and wave.opens.on and opening_us(wave.opens, 0, WEST) <= now_us:
            closes_us = later_us(opening_us(wave.opens, 0, WEST), wave.open_for, WEST)
            over = wave.open_for and later_us(closes_us, wave.grace, WEST) <= now_us
            then = "nobody can take it any more" if over else "it opens as soon as the wave before is over"
            yield f"waves[{number}].opens.on: {wave.opens.on} is past, so {then}."


def _erased_before(file: StudyFile) -> Iterator[ValidationIssue]:
    """Check the periods of retention: people must not be erased while they may still come back."""
    for key, period in (("keep_ids_for", file.keep_ids_for), ("keep_for", file.keep_for)):
        idle_days = 0.0
        for wave in (file.waves or ())[1:] if period else ():
            spans = ((wave.opens or Opening()).after, wave.open_for, wave.grace)
            idle_days += sum(days + seconds / 86_400 for days, seconds in map(span_of, filter(None, spans)))
            if period and days_of(period) <= idle_days:
                words = (
                    f"is too short: {wave.wave!r} may begin {idle_days:g} days after the last visit; keep them longer"
                )
                yield ValidationIssue(key, words)
                break
            idle_days = 0 if wave.missed == "drop" else idle_days
