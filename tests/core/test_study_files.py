"""Study files: those that come with Parley are sound, and a faulty one is told all its faults at once."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from app.bots.dry_run import estimate_by_simulation
from app.studies.drafts import create_draft
from app.studies.loader import PROTOCOLS, STUDIES, find, load_study, shipped
from app.studies.yaml_loader import parse_yaml
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.json_schema import json_schema
from experiments.study.resolve import restore
from experiments.study.schema import StudyFile
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.sections.plan import Plan
from experiments.study.sections.recruitment import Bonus, Recruitment
from storage.yaml_text import yaml_text
from tests.core.study_faults import FAULTY, SOUND, pools_of


def faults(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """What is said of the sound study once it is changed."""
    raw = copy.deepcopy(SOUND)
    change(raw)
    path = tmp_path / "small.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    with pytest.raises(StudyError) as error:
        load_study(str(path))
    return str(error.value)


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.replace(" ", "_"))
def test_a_faulty_study_is_told(case: str, tmp_path: Path) -> None:
    change, wanted = FAULTY[case]
    said = faults(tmp_path, change)
    for words in wanted:
        assert words in said


def test_a_conversation_whose_labels_dices_does_not_have_is_told(tmp_path: Path) -> None:
    said = '"dialogue": [{"role": "user", "text": "Hm?"}, {"role": "bot", "text": "Ah."}]'
    lines = [f'{{"id": "{name}", "tags": {{"harm_type": "{name}"}}, {said}}}\n' for name in ("Racial", "Nonsense")]
    (tmp_path / "talks.jsonl").write_text("".join(lines))

    def change(raw: dict[str, Any]) -> None:
        raw["problems"]["talks"] = {"source": "jsonl", "path": "talks.jsonl"}
        raw["export_schemas"] = ["dices-350"]

    found = faults(tmp_path, change)
    assert "problems.talks: problem 'Nonsense': harm_type 'Nonsense' is not allowed" in found
    assert "problem 'Racial'" not in found


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["flow"][2]["text"] = "{{nobody}}"
        raw["models"]["tutor"]["backend"] = "oops"
        raw["flow"][1]["flow"][0]["take"] = 99
        raw["flow"].pop()

    said = faults(tmp_path, change)
    for words in ("{{nobody}}", "99 is more than", "must end with"):
        assert words in said


def test_faults_of_form_do_not_hide_those_of_meaning(tmp_path: Path) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["titel"] = "x"
        raw["flow"][0] = {"step": "consnt"}
        raw["flow"][2]["questions"].append({"type": "short_txt", "name": "y"})
        raw["flow"][1]["flow"][0] |= {"do": "answer-frist", "take": 99, "wher": {}}
        raw["flow"].insert(3, {"step": "info", "id": "more", "text": "{{conditoin}} {{last.word}}"})

    said = faults(tmp_path, change)
    for words in (
        "titel: no such key",
        "'consent'?",
        "'short_text'?",
        "'answer-first'?",
        "99 is more",
        "wher: no such key",
    ):
        assert words in said
    assert "{{conditoin}} is not defined here" in said
    assert "{{last.word}}" not in said, "what only follows from another fault is not told"


@pytest.mark.parametrize("value", ["{{subject}}", "{[a, b]: c}"])
def test_what_looks_like_a_text_and_is_none_is_told(value: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"study: x\ntitle: {value}\nflow: []\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"line 2, column \d+: .*`{{` unquoted"):
        load_study(str(path))


def test_no_fault_of_form_is_told_in_pythons_words() -> None:
    """Who wrote `authors: Foo` was told that it should be a valid tuple."""
    parts: tuple[type[BaseModel], ...] = (StudyFile, DatasetInfo, Plan, Recruitment, Bonus)
    for part in parts:
        for name in part.model_fields:
            for value in ("Foo", 3, ["a"], {"a": 1}, [], {}):
                with suppress(ValidationError):
                    part.model_validate({name: value})
                    continue
                with pytest.raises(ValidationError) as failed:
                    part.model_validate({name: value})
                told = "\n".join(map(str, issues_of(failed.value, {name: value}, part)))
                assert not re.search("tuple|dictionary|mapping|instance|validation", told, re.IGNORECASE), told


def test_a_key_that_stands_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("study: x\ntitle: a\ntitle: b\nflow: []\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"line 3, column 1: .*duplicate key 'title'"):
        load_study(str(path))


def test_parleys_own_protocol_is_not_replaced_in_silence(tmp_path: Path) -> None:
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols/mine.yaml").write_text("protocol: answer-first\nversion: 1\nflow: [{step: answer}]\n")
    (tmp_path / "small.yaml").write_text(yaml_text(SOUND), encoding="utf-8")
    with pytest.raises(StudyError, match="is that of Parley's own 'answer-first'"):
        load_study(str(tmp_path / "small.yaml"))


def test_one_problem_may_be_in_two_pools(tmp_path: Path) -> None:
    pools = {**SOUND["problems"], **pools_of("1 + 2?", "1 + 2?")}
    (tmp_path / "small.yaml").write_text(yaml_text({**SOUND, "problems": pools}), encoding="utf-8")
    assert load_study(str(tmp_path / "small.yaml")).pools["b"]


def test_what_people_read_is_under_the_hash() -> None:
    document = load_study("chatbench").document
    for words in (
        "Take as much time as you need",
        "I know how to approach this problem",
        "You are a helpful AI assistant",
    ):
        assert words in document


def test_checking_tries_out_what_is_seldom_drawn(tmp_path: Path) -> None:
    raw = copy.deepcopy(SOUND)
    raw["factors"]["arm"] = {"often": 199, "seldom": 1}
    each = {"each": "again", "of": "questions", "where": {"subject": "moral"}, "take": 12, "do": "user-alone"}
    raw["flow"][2:2] = [
        {**each, "when": {"arm": "seldom"}},
        {**each, "each": "more", "take": 5, "when": {"arm": "seldom"}},
    ]
    path = tmp_path / "small.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    with pytest.raises(StudyError, match="are left"):
        asyncio.run(estimate_by_simulation(load_study(str(path)), 2, 300))


def test_what_is_no_yaml_is_told_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("study: x\ntitle: What: is this?\n", encoding="utf-8")
    with pytest.raises(StudyError, match="line 2, column 12"):
        load_study(str(path))


@pytest.mark.parametrize(
    ("text", "said"), [("- a\n- b\n", "holds a list"), ("", "is empty"), ("7", "one value"), ("study: \xff", "UTF-8")]
)
def test_what_is_no_mapping_is_told(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StudyError, match=said):
        load_study(str(path))


def test_a_name_that_cannot_be_is_one_fault_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("study: my study!\ntitle: t\nflow: [{step: finish}]\n", encoding="utf-8")
    with pytest.raises(StudyError) as refused:
        load_study(str(path))
    (fault,) = refused.value.found
    assert fault.where == "study"
    assert fault.what.startswith("'my study!': a name starts with a letter")


def test_a_folder_stands_for_the_study_that_was_made_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = create_draft(tmp_path / "mine", "demo")
    monkeypatch.chdir(tmp_path)
    assert find("mine").resolve() == path.resolve()
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="neither a file nor a study"):
        find("empty")


@pytest.mark.parametrize("name", shipped())
def test_a_study_that_comes_with_parley_is_sound_and_survives_its_document(name: str) -> None:
    study = load_study(name)
    again = restore(study.document)
    assert again.hash == study.hash
    assert again.flow == study.flow
    assert again.pools == study.pools


@cache
def published(kind: Literal["study", "protocol"]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(kind))


@pytest.mark.parametrize("path", [*map(find, shipped()), *PROTOCOLS.glob("*.yaml")], ids=lambda path: path.stem)
def test_a_file_that_comes_with_parley_fits_the_published_schema(path: Path) -> None:
    kind = "study" if path.parent == STUDIES else "protocol"
    published(kind).validate(parse_yaml(path.read_text(encoding="utf-8")).value)


def test_the_order_of_options_is_part_of_the_hash(tmp_path: Path) -> None:
    def hash_of(options: dict[str, str]) -> str:
        raw = copy.deepcopy(SOUND)
        raw["flow"][2]["questions"][0] = {"type": "single_choice", "name": "x", "options": options}
        path = tmp_path / "small.yaml"
        path.write_text(yaml_text(raw), encoding="utf-8")
        return load_study(str(path)).hash

    assert hash_of({"a": "A", "b": "B"}) != hash_of({"b": "B", "a": "A"})


def test_mathconverse_runs_on_the_real_problems(shared: Path, tmp_path: Path) -> None:
    raw = parse_yaml((STUDIES / "mathconverse.yaml").read_text(encoding="utf-8")).value
    raw["problems"]["theorems"]["path"] = str(shared / "checkmate_problems")
    path = tmp_path / "real.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    study = load_study(str(path))
    sets = {
        (problem.tags["topic"], problem.tags["set"]) for problem in study.pools["theorems"] if "set" in problem.tags
    }
    assert len(study.pools["theorems"]) == 24
    assert len(sets) == 8


def test_a_change_may_be_to_a_step_that_only_one_alternative_has(tmp_path: Path) -> None:
    raw = copy.deepcopy(SOUND)
    raw["flow"][1]["flow"][0]["with"] = {"alone": {"text": "Please answer alone."}}
    path = tmp_path / "small.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    load_study(str(path))


def test_yes_and_no_are_words(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        "study: small\ntitle: Yes\nflow:\n  - step: survey\n    questions:\n"
        "      - {type: single_choice, name: again, options: [yes, no], required: no}\n"
        "  - {step: info, id: more, text: More, when: {survey.again: yes}}\n  - step: finish\n",
        encoding="utf-8",
    )
    survey, more, _ = load_study(str(path)).flow
    assert survey.questions[0].options == {"yes": "yes", "no": "no"}
    assert survey.questions[0].required is False
    assert more.when == {"survey.again": "yes"}
