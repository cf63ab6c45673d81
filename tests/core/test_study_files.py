"""Study files: those that come with Parley are sound, and a faulty one is told all its faults at once."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from app.library import PROTOCOLS, STUDIES, load_study, shipped
from app.outline import typical_minutes
from experiments.core.resolve import restore
from experiments.core.schema import json_schema
from experiments.core.session import screen
from experiments.errors import StudyError
from tests.fakes.sessions import play

SOUND: dict[str, Any] = {
    "study": "small",
    "title": "A small study",
    "problems": {"questions": {"source": "chatbench"}},
    "models": {"tutor": {"backend": "scripted"}},
    "factors": {"condition": ["answer-first", "direct-to-AI"]},
    "flow": [
        {"step": "consent", "text": "Please agree."},
        {
            "phase": "Phase 1",
            "flow": [
                {
                    "each": "question",
                    "of": "questions",
                    "take": 2,
                    "do": {"by": "condition", "pick": {"answer-first": "answer-first", "direct-to-AI": "direct-to-AI"}},
                }
            ],
        },
        {"step": "survey", "id": "last", "questions": [{"ask": "short", "name": "word", "text": "A word?"}]},
        {"step": "finish", "code": "DONE"},
    ],
}


def faults(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """What is said of the sound study once it is changed."""
    raw = copy.deepcopy(SOUND)
    change(raw)
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    with pytest.raises(StudyError) as error:
        load_study(str(path))
    return str(error.value)


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change: set what stands at a path, or remove it where the value is ...."""

    def change(raw: dict[str, Any]) -> None:
        for part in path[:-1]:
            raw = raw[part]
        if value is ...:
            del raw[path[-1]]
        else:
            raw[path[-1]] = value

    return change


EACH = ("flow", 1, "flow", 0)
FAULTY = {
    "an unknown key, with the one that was meant": (
        put("contakt", value="me@example.org"),
        ["contakt: no such key", "Did you mean 'contact'?"],
    ),
    "a missing title": (put("title", value=...), ["title: is missing"]),
    "an unknown step": (
        put("flow", 0, value={"step": "consnt"}),
        ["flow[0]: no step is called 'consnt'", "'consent'?"],
    ),
    "a node that is nothing": (
        put("flow", 0, value={"text": "hm"}),
        ["flow[0]: is neither a step, a phase nor an each"],
    ),
    "an unknown key of a step": (
        put("flow", 2, "questons", value=[]),
        ["flow[2].questons: no such key", "Did you mean 'questions'?"],
    ),
    "an unknown kind of question": (
        put("flow", 2, "questions", 0, "ask", value="shrt"),
        ["flow[2].questions[0]: no question is of kind 'shrt'", "Did you mean 'short'?"],
    ),
    "a choice without options": (
        put("flow", 2, "questions", 0, value={"ask": "single", "name": "x", "text": "?"}),
        ["flow[2].questions[0]: needs at least two options"],
    ),
    "an unknown scale": (
        put("flow", 2, "questions", 0, value={"ask": "scale", "scale": "helpfullness"}),
        ["no scale is called 'helpfullness'", "Did you mean 'helpfulness'?"],
    ),
    "two questions of one name": (
        put("flow", 2, "questions", value=[{"ask": "short", "name": "w"}, {"ask": "long", "name": "w"}]),
        ["flow[2]: two questions are called 'w'"],
    ),
    "an unknown protocol": (
        put(*EACH, "do", value="answer-frist"),
        ["flow[1].flow[0].do: no protocol is called 'answer-frist'", "Did you mean 'answer-first'?"],
    ),
    "another version of a protocol": (
        put(*EACH, "do", value="answer-first@7"),
        ["'answer-first' is at version 1, not '7'", "answer-first@1"],
    ),
    "a change to a protocol that it cannot have": (
        put(*EACH, "with", value={"with_ai": {"max_mesages": 3}}),
        ["flow[1].flow[0].with.with_ai.max_mesages: no such key"],
    ),
    "a change to a step that the protocol does not have": (
        put(*EACH, "with", value={"chatt": {"max_messages": 3}}),
        ["flow[1].flow[0].with", "'chatt'"],
    ),
    "a condition without a protocol": (
        put(*EACH, "do", "pick", value={"answer-first": "answer-first"}),
        ["has no protocol for condition = 'direct-to-AI'"],
    ),
    "a factor that is not there": (
        put(*EACH, "do", "by", value="conditon"),
        ["no factor is called 'conditon'", "Did you mean 'condition'?"],
    ),
    "an unknown pool": (
        put(*EACH, "of", value="question"),
        ["no pool of problems is called 'question'", "Did you mean 'questions'?"],
    ),
    "more problems than there are": (put(*EACH, "take", value=61), ["61 is more than the 60 problems of 'questions'"]),
    "a tag that no problem has": (
        put(*EACH, "where", value={"topik": "x"}),
        ["no problem of 'questions' has the tag 'topik'"],
    ),
    "a name that means nothing": (
        put("flow", 2, "text", value="You are in {{conditoin}}."),
        ["flow[2]: {{conditoin}} means nothing here", "Did you mean 'condition'?"],
    ),
    "a condition on what comes later": (
        put("flow", 0, "when", value={"last.word": "x"}),
        ["flow[0].when: 'last.word' means nothing here"],
    ),
    "two steps of one id": (put("flow", 2, "id", value="consent"), ["'consent' is the id of an earlier step"]),
    "an end that is not for everybody": (
        put("flow", 3, "when", value={"condition": "answer-first"}),
        ["flow[3].when: the last `finish` must be there for everybody"],
    ),
    "an option listed twice": (
        put("flow", 2, "questions", 0, value={"ask": "single", "name": "x", "options": ["a", "a", "b"]}),
        ["flow[2].questions[0]", "the option 'a' is listed twice"],
    ),
    "a range without room": (
        put("flow", 2, "questions", 0, value={"ask": "number", "name": "x", "minimum": 10, "maximum": 3}),
        ["flow[2].questions[0]: minimum 10 is above maximum 3"],
    ),
    "a tag's value that no problem has": (
        put(*EACH, "where", value={"subject": "maths"}),
        ["flow[1].flow[0].where: no problem of 'questions' has subject 'maths'", "Did you mean 'math'?"],
    ),
    "no end": (put("flow", 3, value=...), ["must end with a `finish` step"]),
    "an unknown backend": (
        put("models", "tutor", "backend", value="scriptd"),
        ["models.tutor.backend: no backend is called 'scriptd'", "Did you mean 'scripted'?"],
    ),
    "an option that the backend does not know": (
        put("models", "tutor", "options", value={"wrnog": 1}),
        ["models.tutor", "wrnog", "Did you mean 'wrong'?"],
    ),
    "no model to reply": (put("models", value={}), ["needs a model"]),
    "a model that is not there": (put("factors", "model", value=["tuto"]), ["no model is called 'tuto'", "'tutor'?"]),
    "an unknown schema": (put("records", value=["chatbnch"]), ["no schema is called 'chatbnch'", "'chatbench'?"]),
    "a source that is not there": (
        put("problems", "questions", "source", value="chatbensh"),
        ["problems.questions", "chatbench"],
    ),
    "a file that is not there": (
        put("problems", "questions", "path", value="none.csv"),
        ["problems.questions", "none.csv"],
    ),
    "a temperature out of range": (put("models", "tutor", "temperature", value=9), ["models.tutor.temperature: 9"]),
    "weights that draw nothing": (put("factors", "condition", value={"a": 0}), ["no value that can be drawn"]),
    "a chat where there is no problem": (
        put("flow", 0, value={"step": "chat"}),
        ["a 'chat' step must stand inside an `each`"],
    ),
}


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.replace(" ", "_"))
def test_a_faulty_study_is_told(case: str, tmp_path: Path) -> None:
    change, wanted = FAULTY[case]
    said = faults(tmp_path, change)
    for words in wanted:
        assert words in said


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
        raw["flow"][2]["questions"].append({"ask": "shrt", "name": "y"})
        raw["flow"][1]["flow"][0] |= {"do": "answer-frist", "take": 99, "wher": {}}
        raw["flow"].insert(3, {"step": "info", "id": "more", "text": "{{conditoin}} {{last.word}}"})

    said = faults(tmp_path, change)
    for words in ("titel: no such key", "'consent'?", "'short'?", "'answer-first'?", "99 is more", "wher: no such key"):
        assert words in said
    assert "{{conditoin}} means nothing here" in said
    assert "{{last.word}}" not in said, "what only follows from another fault is not told"


def test_a_key_that_stands_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("study: x\ntitle: a\ntitle: b\nflow: []\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"line 3, column 1: .*'title' stands twice"):
        load_study(str(path))


def test_parleys_own_protocol_is_not_replaced_in_silence(tmp_path: Path) -> None:
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols/mine.yaml").write_text("protocol: answer-first\nversion: 1\nflow: [{step: answer}]\n")
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SOUND, sort_keys=False), encoding="utf-8")
    with pytest.raises(StudyError, match="is that of Parley's own 'answer-first'"):
        load_study(str(tmp_path / "small.yaml"))


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
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    with pytest.raises(StudyError, match="are left"):
        asyncio.run(typical_minutes(load_study(str(path)), 2))


def test_what_is_no_yaml_is_told_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("study: x\ntitle: What: is this?\n", encoding="utf-8")
    with pytest.raises(StudyError, match="line 2, column 12"):
        load_study(str(path))


@pytest.mark.parametrize("text", ["- a\n- b\n", "", "study: \xff"])
def test_what_is_no_mapping_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StudyError):
        load_study(str(path))


@pytest.mark.parametrize("name", shipped())
def test_a_study_that_comes_with_parley_is_sound_and_survives_its_document(name: str) -> None:
    study = load_study(name)
    again = restore(study.document)
    assert again.hash == study.hash
    assert again.flow == study.flow
    assert again.pools == study.pools


@pytest.mark.parametrize("path", [*STUDIES.glob("*.yaml"), *PROTOCOLS.glob("*.yaml")], ids=lambda path: path.stem)
def test_a_file_that_comes_with_parley_fits_the_published_schema(path: Path) -> None:
    kind = "study" if path.parent == STUDIES else "protocol"
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), json_schema(kind))


def test_the_order_of_options_is_part_of_the_hash(tmp_path: Path) -> None:
    def hash_of(options: dict[str, str]) -> str:
        raw = copy.deepcopy(SOUND)
        raw["flow"][2]["questions"][0] = {"ask": "single", "name": "x", "options": options}
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
        return load_study(str(path)).hash

    assert hash_of({"a": "A", "b": "B"}) != hash_of({"b": "B", "a": "A"})


def test_mathconverse_runs_on_the_real_problems(shared: Path, tmp_path: Path) -> None:
    raw = yaml.safe_load((STUDIES / "mathconverse.yaml").read_text(encoding="utf-8"))
    raw["problems"]["theorems"]["path"] = str(shared / "checkmate_problems")
    path = tmp_path / "real.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
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
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    load_study(str(path))


def test_yes_and_no_are_words(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        "study: small\ntitle: Yes\nflow:\n  - step: survey\n    questions:\n"
        "      - {ask: single, name: again, options: [yes, no], required: no}\n"
        "  - {step: info, id: more, text: More, when: {survey.again: yes}}\n  - step: finish\n",
        encoding="utf-8",
    )
    survey, more, _ = load_study(str(path)).flow
    assert survey.questions[0].options == {"yes": "yes", "no": "no"}
    assert survey.questions[0].required is False
    assert more.when == {"survey.again": "yes"}


def test_titles_and_buttons_may_name_values(tmp_path: Path) -> None:
    raw = copy.deepcopy(SOUND)
    raw["flow"][2] |= {"title": "For {{condition}}", "button": "On, {{condition}}"}
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    study = load_study(str(path))
    panels = [screen(study, state).panel for state, _ in play(study, "1")]
    assert any(panel.title in ("For answer-first", "For direct-to-AI") for panel in panels)
    assert any(panel.button.startswith("On, ") and "{{" not in panel.button for panel in panels)
