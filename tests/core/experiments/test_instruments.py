"""Instruments: their files, the questions that they become, and their scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.loader import INSTRUMENTS, load_study, read_yaml
from experiments.errors import StudyError
from experiments.study.fields import SingleChoice, Slider
from experiments.study.instrument import Instrument
from experiments.views.instrument_scores import keyed, limits, scores
from storage.yaml_text import yaml_text

SHIPPED = {path.stem: Instrument.model_validate(read_yaml(path)) for path in sorted(INSTRUMENTS.glob("*.yaml"))}
OWN: dict[str, Any] = {
    "instrument": "mine",
    "title": "Mine",
    "source": "Ada",
    "licence": "CC0",
    "licence_url": "https://example.org/licence",
    "instructions": "How far do you agree?",
    "scale": {"minimum": 1, "maximum": 5, "labels": {1: "Not at all", 5: "Fully"}},
    "items": [
        {"id": "a", "text": "First"},
        {"id": "b", "text": "Second", "reverse": True},
        {"id": "c", "text": "Third", "scale": {"minimum": 0, "maximum": 10, "shown": "line", "labels": {0: "Low"}}},
    ],
    "scores": [
        {"name": "two", "items": ["a", "b"], "missing": 1},
        {"name": "total", "rule": "sum", "missing": 1},
        {"name": "percent", "rule": "sum", "range": [0, 100]},
    ],
}


def study(folder: Path, *questions: dict[str, Any], own: dict[str, Any] | None = None, **more: Any) -> Path:
    if own is not None:
        (folder / "instruments").mkdir()
        (folder / "instruments" / "own.yaml").write_text(yaml_text(own), encoding="utf-8")
    flow = [{"step": "consent", "text": "Yes?"}, {"step": "survey", "questions": list(questions)}, {"step": "finish"}]
    path = folder / "study.yaml"
    path.write_text(yaml_text({"study": "asked", "title": "Asked", "flow": flow, **more}), encoding="utf-8")
    return path


def values(name: str, answers: dict[str, float]) -> dict[str, float | None]:
    return {one.score: one.value for one in scores(SHIPPED.get(name) or Instrument.model_validate(OWN), answers)}


@pytest.mark.parametrize("name", SHIPPED)
def test_an_instrument_that_comes_with_parley_states_its_source_and_licence(name: str) -> None:
    one = SHIPPED[name]
    assert one.instrument == name
    assert one.source
    assert one.licence
    assert one.licence_url.startswith("https://")


def test_its_items_become_questions_named_after_it(tmp_path: Path) -> None:
    found = load_study(str(study(tmp_path, {"instrument": "nasa-tlx"}, {"instrument": "s-tias", "required": False})))
    (_, survey) = found.steps[1]
    *lines, first, second, third = survey.questions_asked()
    assert [line.name for line in lines] == [
        f"nasa-tlx_{item}" for item in ("mental", "physical", "temporal", "performance", "effort", "frustration")
    ]
    assert all(isinstance(line, Slider) and line.required and line.step == 5 for line in lines)
    assert [one.name for one in (first, second, third)] == ["s-tias_1", "s-tias_2", "s-tias_3"]
    assert isinstance(first, SingleChoice)
    assert not first.required
    assert list(first.options.values()) == ["(1) Not at all", "(2)", "(3)", "(4)", "(5)", "(6)", "(7) Extremely"]
    assert survey.provides() == tuple(one.name for one in survey.questions_asked())


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"instrument": "suss"}, r"line \d+, flow\[1\]: no instrument is called 'suss'.*Did you mean 'sus'"),
        ({"instrument": "sus", "reqired": False}, r"questions\[0\].reqired: no such key.*Did you mean 'required'"),
        ({"instrument": "sus", "required": "perhaps"}, r"questions\[0\].required: 'perhaps'"),
    ],
)
def test_what_cannot_be_asked_is_an_error_with_its_place(question: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said):
        load_study(str(study(tmp_path, question)))


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"titel": "x"},
            {"scale": None},
            {"items": []},
            {"items": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
        ),
        *({"scores": [{"name": "x", **more}]} for more in ({"items": ["d"]}, {"missing": 3}, {"rule": "median"})),
        *({"scale": {"minimum": low, "maximum": high}} for low, high in ((5, 1), (0, 100))),
        {"scale": {"minimum": 1, "maximum": 5, "labels": {6: "x"}}},
    ],
)
def test_a_faulty_instrument_is_an_error_with_its_name(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="instrument mine"):
        load_study(str(study(tmp_path, {"instrument": "mine"}, own=OWN | change)))


# Scores


def test_sus_counts_odd_items_up_and_even_items_down() -> None:
    given = dict(zip(map(str, range(1, 11)), [4, 2, 5, 1, 3, 3, 4, 2, 5, 1], strict=True))
    contributions = [3, 3, 4, 4, 2, 2, 3, 3, 4, 4]
    assert values("sus", given) == {"usability": pytest.approx(2.5 * sum(contributions))}
    assert values("sus", {item: 5 if int(item) % 2 else 1 for item in given}) == {"usability": 100}
    assert values("sus", dict.fromkeys(given, 3)) == {"usability": 50}


def test_the_raw_tlx_is_the_mean_of_the_six_ratings() -> None:
    items = ("mental", "physical", "temporal", "performance", "effort", "frustration")
    given = dict(zip(items, [70, 10, 45, 20, 60, 35], strict=True))
    assert values("nasa-tlx", given) == {"workload": pytest.approx(40)}


def test_a_score_needs_as_many_answers_as_its_rule_says() -> None:
    assert values("mine", {"a": 2, "b": 2, "c": 8}) == {
        "two": 3,
        "total": 14,
        "percent": pytest.approx((14 - 2) / (20 - 2) * 100),
    }
    assert values("mine", {"a": 2, "b": 2}) == {"two": 3, "total": pytest.approx(9), "percent": None}
    assert values("mine", {"c": 8}) == {"two": None, "total": None, "percent": None}
    answered = [(one.answered, one.items) for one in scores(Instrument.model_validate(OWN), {"a": 2})]
    assert answered == [(1, 2), (1, 3), (1, 3)]


@given(data=st.data(), name=st.sampled_from(sorted(SHIPPED)))
def test_a_score_stays_within_its_limits_and_turns_round_with_its_answers(data: st.DataObject, name: str) -> None:
    one = SHIPPED[name]
    given: dict[str, float] = {}
    for item in one.items:
        scale = one.scale_of(item)
        given[item.id] = data.draw(st.integers(scale.minimum, scale.maximum))
        assert keyed(one, item, keyed(one, item, given[item.id])) == given[item.id]
    turned = {i.id: one.scale_of(i).minimum + one.scale_of(i).maximum - given[i.id] for i in one.items}
    for score, found, other in zip(one.scores, scores(one, given), scores(one, turned), strict=True):
        low, high = limits(one, score)
        assert found.value is not None
        assert other.value is not None
        assert low - 1e-9 <= found.value <= high + 1e-9
        assert found.value + other.value == pytest.approx(low + high)
