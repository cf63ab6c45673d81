"""Study files: those that come with Parley are sound, and a faulty one is told all its faults at once."""

from __future__ import annotations

import asyncio
import copy
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import jsonschema
import orjson
import pytest
from pydantic import BaseModel, ValidationError

from app.bots.dry_run import estimate_by_simulation
from app.studies.drafts import create_draft
from app.studies.loader import PROTOCOLS, STUDIES, find, load_study, shipped
from app.studies.yaml_loader import parse_yaml
from experiments.errors import StudyError
from experiments.study.checks.validation_errors import issues_of
from experiments.study.resolve import restore
from experiments.study.schema import StudyFile, json_schema
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.sections.plan import Plan
from experiments.study.sections.recruitment import Bonus, Recruitment
from storage.yaml_text import yaml_text
from tests.core.study_faults import DICES_FAULTS, FAULTS, SOUND


def write(folder: Path, raw: dict[str, Any]) -> str:
    path = folder / "small.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    return str(path)


def places(folder: Path, raw: dict[str, Any]) -> list[str]:
    with pytest.raises(StudyError) as error:
        load_study(write(folder, raw))
    return list(dict.fromkeys(issue.where for issue in error.value.found))


def put(raw: Any, path: str, value: Any) -> None:
    """Set what is at a path, or remove it where the value is ...."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    for part in parents:
        raw = raw[part]
    if value is ...:
        del raw[last]
    else:
        raw[last] = value


@pytest.mark.parametrize(("path", "value", "wanted"), [(path, value, wanted) for path, value, *wanted in FAULTS])
def test_each_error_is_reported_at_its_place(path: str, value: Any, wanted: list[str], tmp_path: Path) -> None:
    found = messages(tmp_path, path, value)
    assert list(dict.fromkeys(where for where, _ in found)) == wanted
    assert [f"{where}: {what}" for where, what in found] == MESSAGES.get(named(path, value)), WRITE


def messages(folder: Path, path: str, value: Any) -> list[tuple[str, str]]:
    raw = copy.deepcopy(SOUND)
    put(raw, path, value)
    with pytest.raises(StudyError) as error:
        load_study(write(folder, raw))
    return [(issue.where, issue.what.replace(str(folder), "FOLDER")) for issue in error.value.found]


def named(path: str, value: Any) -> str:
    return f"without {path}" if value is ... else f"{path} = {value}"


# The wording of errors in study files, which authors read: a golden file, so that a change of it is seen.
GOLDEN = Path(__file__).with_name("study_file_messages.json")
MESSAGES: dict[str, list[str]] = orjson.loads(GOLDEN.read_bytes())
WRITE = "if the new wording is better: python -m tests.core.app.studies.test_loader"


@pytest.mark.parametrize("question", DICES_FAULTS)
def test_a_question_whose_values_dices_does_not_have_is_an_error(question: dict[str, Any], tmp_path: Path) -> None:
    flow = [{"step": "survey", "questions": [question]}, *SOUND["flow"][1:]]
    assert places(tmp_path, {**SOUND, "export_schemas": ["dices-350"], "flow": flow}) == ["flow[0]"]


def test_a_conversation_whose_labels_dices_does_not_have_is_an_error(tmp_path: Path) -> None:
    said = '"dialogue": [{"role": "user", "text": "Hm?"}, {"role": "bot", "text": "Ah."}]'
    for name in ("Racial", "Nonsense"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "a{name}", "tags": {{"harm_type": "{name}"}}, {said}}}\n')
    pools = {name: {"source": "jsonl", "path": f"{name}.jsonl"} for name in ("Racial", "Nonsense")}
    raw = {**SOUND, "export_schemas": ["dices-350"], "problems": {**SOUND["problems"], **pools}}
    assert places(tmp_path, raw) == ["problems.Nonsense"]


def test_no_error_hides_those_of_other_files_keys_and_texts(tmp_path: Path) -> None:
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols/torn.yaml").write_text("protocol: [")
    (tmp_path / "protocols/odd.yaml").write_text("protocol: odd\nversion: 1\nflow: [{step: anser}]\n")
    raw = copy.deepcopy(SOUND) | {"languages": ["de"], "translations": {"de": "none.yaml"}}
    chat = {"step": "chat", "id": "talk", "max_messages": "lots", "model": "tuto"}
    raw["flow"][0]["text"] = "Please ![agree](none.png)."
    loop = {"each": "question", "of": "questions"}
    raw["flow"][1]["flow"] = [loop | {"take": -1, "flow": [chat]}, loop | {"do": "odd"}, loop | {"do": "torn"}]
    assert set(places(tmp_path, raw)) == {
        *("line 1, column 12", "flow[0]", "translations.de", "flow[0].text"),  # the first two of protocols
        *("flow[1].flow[0].take", "flow[1].flow[0].flow[0].max_messages", "flow[1].flow[0].flow[0].model"),
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        *(("study: x\ntitle: {{subject}}\nflow: []\n", "line 2, column"), ("title: a\ntitle: b\n", "line 2, column 1")),
        *(("study: x\ntitle: What: is this?\n", "line 2, column 12"), ("- a\n- b\n", ""), ("", ""), ("7", "")),
        ("study: \xff", ""),
    ],
)
def test_what_is_no_mapping_in_yaml_is_refused_with_its_place(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StudyError, match=place or None):
        load_study(str(path))


@pytest.mark.parametrize("value", [None, True, {"a": None}, [{"a": True}]], ids=str)
@pytest.mark.parametrize(
    "path", ["export_schemas", "problems.questions.source", "flow.0", "flow.2.questions.0", "language"]
)
def test_no_value_is_told_as_python_writes_it(path: str, value: Any, tmp_path: Path) -> None:
    told = "\n".join(what for _, what in messages(tmp_path, path, value))
    assert not re.search(r"None|True|\{'", told), told


def test_no_fault_of_form_is_told_in_pythons_words() -> None:
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


@pytest.mark.parametrize(("second", "sound"), [("1 + 2?", True), ("1 * 3?", False)])
def test_two_pools_may_share_a_problem_and_no_id(second: str, sound: bool, tmp_path: Path) -> None:
    items = [{"id": "q1", "question": text, "options": ["3", "4"], "answer": "A"} for text in ("1 + 2?", second)]
    pools = {**SOUND["problems"], **{name: {"items": [item]} for name, item in zip("ab", items, strict=True)}}
    if sound:
        assert load_study(write(tmp_path, {**SOUND, "problems": pools})).pools["b"]
    else:
        assert places(tmp_path, {**SOUND, "problems": pools}) == ["problems.b"]


def test_checking_tries_out_what_is_seldom_drawn(tmp_path: Path) -> None:
    raw = copy.deepcopy(SOUND)
    raw["factors"]["arm"] = {"often": 199, "seldom": 1}
    each = {"each": "again", "of": "questions", "where": {"subject": "moral"}, "take": 12, "do": "user-alone"}
    raw["flow"][2:2] = [
        {**each, "when": {"arm": "seldom"}},
        {**each, "each": "more", "take": 5, "when": {"arm": "seldom"}},
    ]
    with pytest.raises(StudyError, match="are left"):
        asyncio.run(estimate_by_simulation(load_study(write(tmp_path, raw)), 2, 300))


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
    kind = "protocol" if path.parent == PROTOCOLS else "study"
    published(kind).validate(parse_yaml(path.read_text(encoding="utf-8")).value)


def test_the_order_of_options_is_part_of_the_hash(tmp_path: Path) -> None:
    def hash_of(options: dict[str, str]) -> str:
        raw = copy.deepcopy(SOUND)
        raw["flow"][2]["questions"][0] = {"type": "single_choice", "name": "x", "options": options}
        return load_study(write(tmp_path, raw)).hash

    assert hash_of({"a": "A", "b": "B"}) != hash_of({"b": "B", "a": "A"})


def test_mathconverse_runs_on_the_real_problems(shared: Path, tmp_path: Path) -> None:
    raw = parse_yaml((STUDIES / "mathconverse.yaml").read_text(encoding="utf-8")).value
    raw["problems"]["theorems"]["path"] = str(shared / "checkmate_problems")
    study = load_study(write(tmp_path, raw))
    sets = {
        (problem.tags["topic"], problem.tags["set"]) for problem in study.pools["theorems"] if "set" in problem.tags
    }
    assert len(study.pools["theorems"]) == 24
    assert len(sets) == 8


def test_errors_come_in_the_order_of_the_file_and_help_is_said_to_be_a_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "study: x\ntitle: t\nflow:\n  - {step: infoo}\n  - {step: finish, bar: 1}\nbonus: 3\nhelp: true\nfoo: 1\n"
    )
    with pytest.raises(StudyError) as raised:
        load_study(str(tmp_path / "x.yaml"))
    assert [one.place for one in raised.value.found] == [f"line {line}" for line in (4, 5, 6, 7, 8)]
    assert "quotes" not in raised.value.found[3].what
    assert "\n" not in raised.value.found[3].what


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        found = {named(path, value): messages(Path(name), path, value) for path, value, *_ in FAULTS}
    lines = {key: [f"{where}: {what}" for where, what in each] for key, each in found.items()}
    GOLDEN.write_bytes(orjson.dumps(lines, option=orjson.OPT_INDENT_2) + b"\n")
