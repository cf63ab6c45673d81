"""What is planned: which questions, which models, and cells that are one only where nothing differs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from app.ai_alone.plan import AiAloneRequest, cells
from app.errors import AloneError, MethodUnknown, ModelUnknown
from app.studies.loader import load_study
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.yaml_text import yaml_text
from tests.core.study_faults import SOUND

HEADER = "question_id,dataset,question,option_A,option_B,option_C,option_D,answer,question_formatted,"
HEADER += "option_A_formatted,option_B_formatted,option_C_formatted,option_D_formatted"
CHATBENCH = load_study("chatbench")
DATASETS = (
    "elementary_mathematics",
    "high_school_mathematics",
    "college_mathematics",
    "conceptual_physics",
    "moral_scenarios",
)


def study(folder: Path, **changes: Any) -> Study:
    path = folder / "small.yaml"
    path.write_text(yaml_text({**copy.deepcopy(SOUND), **changes}), encoding="utf-8")
    return load_study(str(path))


def test_by_default_the_released_methods_ask_each_question_fifty_times_of_each_model() -> None:
    found = cells(CHATBENCH, AiAloneRequest())
    assert len(found) == 60 * 3 * 2
    assert {cell.samples for cell in found} == {50}
    assert len({cell.key for cell in found}) == len(found)
    assert {cell.terms.asked.label for cell in found} == {"tutor-a", "tutor-b"}
    assert {cell.problem.dataset for cell in found} == set(DATASETS), "no attention check, and no example"
    assert not any("-dev-" in cell.problem.id for cell in found)


def test_what_is_asked_can_be_narrowed() -> None:
    request = AiAloneRequest(models=("tutor-b",), methods=("free_text",), repeats=3, datasets=DATASETS[:2], most=4)
    found = cells(CHATBENCH, request)
    assert [cell.problem.id for cell in found] == [f"{name}-redux-{n}" for name in DATASETS[:2] for n in range(4)]
    assert {(cell.samples, cell.name, cell.terms.asked.label) for cell in found} == {(3, "free_text", "tutor-b")}


def keys(study: Study, name: str, extractor: str = "") -> list[str]:
    return [
        cell.key for cell in cells(study, AiAloneRequest(methods=(name,), datasets=DATASETS[:1], extractor=extractor))
    ]


def test_what_replies_depend_on_makes_another_key_and_nothing_else_does(tmp_path: Path) -> None:
    alone = {"extractor": "tutor", "temperature": 0.7}
    before = study(tmp_path, ai_alone=alone)
    hotter = study(tmp_path, ai_alone={**alone, "temperature": 0.8})
    reading = study(tmp_path, ai_alone={**alone, "prompts": {"extraction": "{{reply}}?"}})
    renamed = study(tmp_path, ai_alone={**alone, "extractor": "other"}, models={"other": SOUND["models"]["tutor"]})
    for name in ("letter_only_zero_shot", "free_text"):
        assert not set(keys(before, name)) & set(keys(hotter, name))
    assert keys(before, "letter_only_zero_shot") == keys(reading, "letter_only_zero_shot")
    assert not set(keys(before, "free_text")) & set(keys(reading, "free_text")), "a later prompt counts"
    assert not set(keys(before, "free_text")) & set(keys(before, "free_text", "scripted:gpt"))
    first, second = (cells(one, AiAloneRequest(methods=("free_text",), most=1))[0] for one in (before, renamed))
    assert first.next(()).request.model != second.next(()).request.model
    assert first.key != second.key, "their servers are asked for other names"


FLOW = [{"step": "finish"}]


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        *((AiAloneRequest(models=("tutor-c",)), ModelUnknown), (AiAloneRequest(extractor="tutor-c"), ModelUnknown)),
        *((AiAloneRequest(methods=("free_txt",)), MethodUnknown), (AiAloneRequest(datasets=("maths",)), AloneError)),
        (AiAloneRequest(models=("scripted:x", "scripted:x@lab")), ParleyError),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is(request_: AiAloneRequest, kind: type[ParleyError]) -> None:
    with pytest.raises(kind):
        cells(CHATBENCH, request_)


def test_models_that_the_data_could_not_tell_apart_are_refused(tmp_path: Path) -> None:
    same = {name: {"backend": "openai", "model": "gpt-4o"} for name in ("one", "two")}
    with pytest.raises(AloneError, match="'one' and 'two' are the same model"):
        cells(study(tmp_path, models=same, flow=FLOW), AiAloneRequest(methods=("letter_only_zero_shot",)))
    with pytest.raises(AloneError, match="Two models have the label 'gpt-4o'"):
        cells(CHATBENCH, AiAloneRequest(models=("openai:gpt-4o", "openai:gpt-4o@lab")))
