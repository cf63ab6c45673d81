"""Telemetry's rules: when it may be kept, and that nothing in it can be a word of anybody's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from experiments.session.engine import fold
from experiments.session.state import visited
from experiments.session.telemetry import DAY_MS, AnyRecord, TelemetryRecord, records_telemetry, storable_records
from experiments.study.location import State
from experiments.study.step import Step
from experiments.study.study import Study
from tests.fakes.examples import examples
from tests.fakes.sessions import NAMES, play, study, whole

RECORDS: TypeAdapter[TelemetryRecord] = TypeAdapter(AnyRecord)
NOW_US = 1_800_000_000_000_000
# The only texts that a record may have beside names of boxes.
FIXED = {"problem", "conversation", "page"}
TIMES = {"shown_ms": 9, "visible_ms": 8, "reading_ms": 7, "typing_ms": 6}

texts = st.text(max_size=12) | st.sampled_from(["message", "comment", "my secret", "other_0", "problem", "consent"])
numbers = st.integers(-(10**20), 10**20) | st.integers(0, 1000)
anything = st.none() | st.booleans() | numbers | st.floats() | texts
values = anything | st.lists(anything, max_size=3) | st.dictionaries(texts, anything, max_size=3)
sent = st.fixed_dictionaries(
    {"kind": st.sampled_from(["screen", "left", "came_back", "pasted", "copied", "idle", "here"]) | texts},
    optional={
        "ago_ms": numbers,
        "seen": numbers,
        "keys": st.dictionaries(texts, st.integers(0, 9), max_size=2) | values,
        "from": st.sampled_from(sorted(FIXED)) | values,
        "box": texts,
        "blocked": st.booleans() | values,
        **{name: st.integers(0, 1000) | values for name in ("chars", "choices", "away_ms", "after_ms", "first_key_ms")},
        **{name: st.integers(0, 1000) | values for name in TIMES},
        "text": values,
    },
)

some_names = st.sampled_from(["message", "comment", "word", "story", "other_0", "other_99", "my-secret", "consent"])
counts = st.integers(0, 9)
well_formed = st.one_of(
    st.builds(dict, kind=st.just("pasted"), box=some_names, chars=counts, blocked=st.booleans(), ago_ms=counts),
    st.builds(
        lambda keys: {"kind": "screen", "seen": 1, **TIMES, "keys": keys, "ago_ms": 0},
        st.dictionaries(some_names, counts, max_size=2),
    ),
)


def some_state(name: str, share: float) -> State:
    log = whole(name, "telemetry")
    return fold(log[: 1 + round(share * (len(log) - 1))])


def read(raw: dict[str, Any]) -> Iterator[TelemetryRecord]:
    try:
        yield RECORDS.validate_python(raw)
    except ValidationError:
        return


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for pair in value.items() for part in pair for text in strings(part))
        case list() | tuple():
            yield from (text for item in value for text in strings(item))


def names(raw: dict[str, Any]) -> set[str]:
    fields = {"seen", "keys", "choices", "first_key_ms", "box", "chars", "blocked", "from", "away_ms", "after_ms"}
    assert set(raw) <= fields | set(TIMES)
    return set(raw)


def boxes(study: Study, state: State) -> dict[str, set[str]]:
    """The boxes of each place that was come to, as its screen has them now."""
    found = {}
    for place in visited(study, state):
        if isinstance(place.node, Step):
            asked = {field.name for field in place.node.fields(place) if field.model_dump().get("type") in TEXT}
            found[place.path] = asked | ({"message"} if place.node.step in ("chat", "compare") else set())
    return found


TEXT = ("short_text", "long_text")


@given(st.sampled_from(NAMES), st.floats(0, 1), st.lists(well_formed | sent, max_size=6), st.data())
@examples(15)
def test_nothing_is_kept_but_numbers_and_the_names_of_the_studys_places_and_boxes(
    name: str, share: float, raws: list[dict[str, Any]], data: st.DataObject
) -> None:
    found, state = study(name), some_state(name, share)
    there = boxes(found, state)
    paths = st.sampled_from(sorted(there)) | texts if there else texts
    told = [record for raw in raws for record in read({**raw, "path": data.draw(paths)})]
    for record in storable_records(found, state, told):
        assert records_telemetry(found, state)
        row = record.row(NOW_US)
        assert row["path"] in there
        own = set(strings(row["data"])) - names(row["data"]) - FIXED
        assert own <= there[row["path"]]
        assert NOW_US - DAY_MS * 1000 <= row["at_us"] <= NOW_US


def record(kind: str, path: str, **more: Any) -> TelemetryRecord:
    return RECORDS.validate_python({"kind": kind, "path": path, "ago_ms": 0, **more})


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_tells_of_the_present_and_of_earlier_screens_is_kept(name: str) -> None:
    found = study(name)
    for state, _ in play(found, "telemetry"):
        there = boxes(found, state)
        told = [record("pasted", path, box=box, chars=3, blocked=False) for path in there for box in there[path]]
        told += [record("left", path) for path in there]
        agreed = any(fact.data.get("agreed") is True for fact in state.facts.get("consent", ()))
        assert records_telemetry(found, state) == agreed
        assert storable_records(found, state, told) == (tuple(told) if agreed else ())


def changed(found: Study, **more: Any) -> Study:
    return replace(found, file=found.file.model_copy(update=more))


def test_nothing_is_kept_without_the_studys_word_or_after_a_withdrawal() -> None:
    found, state = study("demo"), some_state("demo", 1)
    assert records_telemetry(found, state)
    assert not records_telemetry(changed(found, telemetry=False), state)
    assert not records_telemetry(found, replace(state, outcome="withdrawn"))
    no_consent = replace(found, flow=tuple(node for node in found.flow if node.id != "consent"))
    assert not records_telemetry(no_consent, state)
