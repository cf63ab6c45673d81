"""What a text may hold, at every door through which one enters: any bytes are a clean value or one clear error."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.studies.drafts import Drafts, check_text
from app.studies.loader import load_study
from app.use_cases.recruit import listed_ids
from app.web.console.event_validation import PageEvent
from app.web.participant.api import PerformAction, SaveDraft
from experiments.study.fields import LongText, Number, Scale, ShortText, SingleChoice, Slider, read_form
from problems.errors import ParleyError
from problems.pools import load_pool
from problems.text import UNFIT, NotText, checked, checked_values, clean, clean_json, clean_values, read_text, texts_in
from storage.payments.prolific_export import read_prolific

ANY = st.text(st.characters() | st.sampled_from("\r\n\t\0\x0b\x0c\x1b\x85\ud83d\ude00\ufeff\uffff"))


def unfit(character: str) -> bool:
    return character not in "\t\n" and (
        unicodedata.category(character) in ("Cc", "Cs") or character in "\ufeff\ufffe\uffff"
    )


@given(ANY)
def test_a_cleaned_text_can_be_stored_and_is_as_it_was_but_for_what_is_no_text(text: str) -> None:
    made = clean(text)
    made.encode()
    assert not any(map(unfit, made))
    assert clean(made) == made
    if not any(map(unfit, text.replace("\r", ""))):
        assert made == text.replace("\r\n", "\n").replace("\r", "\n") == checked(text)


@given(ANY)
def test_a_refusal_names_the_first_character_and_its_place(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    wrong = [(n, m, c) for n, line in enumerate(lines, 1) for m, c in enumerate(line, 1) if unfit(c)]
    if not wrong:
        assert checked(text) == "\n".join(lines)
        return
    with pytest.raises(NotText) as refused:
        checked(text, "x.csv")
    line, column, character = wrong[0]
    assert (refused.value.line, refused.value.column) == (line, column)
    assert str(refused.value).startswith(f"x.csv: line {line}, column {column}: ")
    assert f"U+{ord(character):04X}" in str(refused.value) or "UTF-16" in str(refused.value)


VALUES = st.recursive(
    ANY | st.none() | st.booleans() | st.integers(), lambda v: st.lists(v) | st.dictionaries(ANY, v), max_leaves=9
)


@given(VALUES)
def test_every_text_of_a_value_is_cleaned_or_refused(value: object) -> None:
    cleaned = clean_values(value)
    assert clean_values(cleaned) == cleaned == checked_values(cleaned)
    json.dumps(cleaned, ensure_ascii=False).encode()


ROOT = Path(__file__).parents[3]
STUDY = """\
study: small
title: Ein Café
languages: [en, de]
translations: {de: small.de.yaml}
flow:
- step: survey
  id: s
  questions:
  - {type: single_choice, name: a, text: "What?", options: [yes, 7:30, 012]}
- {step: finish, code: X}
"""
TRANSLATION = "What?: Was?\nyes: ja\n"
CHATBENCH = "question_id,dataset,question,option_A,option_B,option_C,option_D,answer\nq-1,q,Où?,a,b,c,d,B\n"
DICES = (ROOT / "problems" / "data" / "dices" / "dialogues.csv").read_text(encoding="utf-8")[:3_000].rpartition("\n")[0]


class Door(NamedTuple):
    """A file that enters: its name, good content, and what reads it. Line 2 is where a text may be spoilt."""

    file: str
    good: str
    read: Callable[[Path], Any]


def pool(source: str) -> Callable[[Path], Any]:
    return lambda path: load_pool({"source": source, "path": path.name}, "pool", path.parent)


def study(path: Path) -> Any:
    return json.loads(load_study(str(path)).document)


def translation(path: Path) -> Any:
    (path.parent / "study.yaml").write_text(STUDY, encoding="utf-8")
    return study(path.parent / "study.yaml")


def protocol(path: Path) -> Any:
    beside = path.parent.parent / "small.yaml"
    beside.write_text(STUDY.replace("translations: {de: small.de.yaml}\n", ""), encoding="utf-8")
    return study(beside)


def draft(path: Path) -> Any:
    """A draft in the console: its text is shown even with control characters, so that they can be removed."""
    text = Drafts(path.parent.parent).text(path.parent.name)
    checked = check_text(text, path.parent)
    if checked.study is None:
        raise ParleyError(str(path), *checked.faults)
    return json.loads(checked.study.document)


PROTOCOL = (ROOT / "experiments" / "protocols" / "user-alone.yaml").read_text(encoding="utf-8")
DOORS = {
    "study": Door("x.yaml", STUDY.replace("small.de", "there.de"), study),
    "translation": Door("small.de.yaml", TRANSLATION, translation),
    "protocol": Door("protocols/own.yaml", PROTOCOL.replace("user-alone", "own", 1), protocol),
    "draft": Door("mine/study.yaml", STUDY.replace("translations: {de: small.de.yaml}\n", ""), draft),
    "chatbench": Door("q.csv", CHATBENCH, pool("chatbench")),
    "dices": Door("d.csv", DICES, pool("dices")),
    "jsonl": Door("q.jsonl", '{"id": "1", "text": "Où?"}\n{"id": "2", "text": "x"}\n', pool("jsonl")),
    "csv": Door("q.csv", "question,answer\nOù?,b\n", pool("items")),
    "json": Door("q.json", '[{"question": "Où?"},\n{"question": "b", "options": ["a", "b"]}]', pool("items")),
    "json lines": Door("q.jsonl", '{"question": "Où?"}\n{"question": "b", "options": "[1, 2]"}', pool("items")),
    "markdown": Door("q.md", "---\nanswer: Où\n---\nWhere?\n", pool("items")),
    "theorems": Door("sums/p1_sum.md", "Let $x$ be\na café.\n", lambda path: pool("checkmate")(path.parent)),
    "prolific": Door("p.csv", "Participant id,Status\nabc,APPROVED\n", read_prolific),
    "ids": Door("ids.txt", "abc\ndef\n", lambda path: listed_ids(read_text(path))),
}
# Doors that show what others refuse.
LENIENT = ("draft",)


def enter(door: Door, folder: Path, content: bytes) -> Any:
    (folder / "there.de.yaml").write_text(TRANSLATION, encoding="utf-8")
    path = folder / door.file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return door.read(path)


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple | frozenset) else value


@pytest.mark.parametrize("name", DOORS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    place=st.floats(0, 1),
    more=st.binary(max_size=3)
    | st.sampled_from(
        (b"\0", b"\r", b"\x1b", b"\xe9", b"\xef\xbb\xbf", b"\xed\xa0\xbd", b"\\ud800", b"\\u0000", b'"\0"')
    ),
    whole=st.none()
    | st.binary(max_size=60)
    | st.sampled_from(("utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8-sig")),
)
def test_any_bytes_are_clean_or_refused(
    name: str, place: float, more: bytes, whole: bytes | str | None, tmp_path: Path
) -> None:
    door = DOORS[name]
    good = door.good.encode()
    at = int(place * len(good))
    content = good[:at] + more + good[at:] if whole is None else whole
    with suppress(ParleyError):
        value = enter(door, tmp_path, content if isinstance(content, bytes) else door.good.encode(content))
        assert not [text for text in texts_in(plain(value)) if UNFIT.search(text) or "\r" in text]


@pytest.mark.parametrize("name", DOORS)
def test_marks_encodings_and_line_ends_change_nothing(name: str, tmp_path: Path) -> None:
    door = DOORS[name]
    value = plain(enter(door, tmp_path, door.good.encode()))
    for text in (door.good.replace("\n", "\r\n"), door.good.replace("\n", "\r"), door.good.replace("\n", "\r\n", 1)):
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
            found = plain(enter(door, tmp_path, text.encode(encoding)))
            assert unhashed(found) == unhashed(value), encoding


def unhashed(value: Any) -> Any:
    return {**value, "sha256": ""} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", [name for name in DOORS if name not in LENIENT])
@pytest.mark.parametrize(("spoilt", "said"), [(b"\0", "U+0000"), (b"\x1b", "U+001B"), (b"\xe9", "Windows-1252")])
def test_a_refusal_names_the_file_and_the_line(name: str, spoilt: bytes, said: str, tmp_path: Path) -> None:
    door = DOORS[name]
    first, second = door.good.encode().split(b"\n", 1)
    with pytest.raises(ParleyError) as refused:
        enter(door, tmp_path, first + b"\n" + second[:1] + spoilt + second[1:])
    message = str(refused.value)
    assert Path(door.file).name in message
    assert "line 2, column 2" in message
    assert said in message


HARD = st.characters() | st.sampled_from("\r\n\t\0\x0b\x1b\x85\ud83d\ude00\ufeff")
TEXTS = st.text(HARD, max_size=12)
TYPED = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    ShortText(name="short"),
    LongText(name="long"),
    Number(name="number"),
    Slider(name="slider"),
    SingleChoice(name="single", options=["yes", "no"]),
    Scale(name="scale", options=["1", "2"]),
)


def unclean(value: Any) -> list[str]:
    return [text for text in texts_in(value) if UNFIT.search(text) or "\r" in text]


@given(st.fixed_dictionaries({field.name: TYPED for field in FIELDS}))
def test_a_form_reads_any_values_as_clean_ones_or_faults(values: dict[str, Any]) -> None:
    found, faults = read_form(FIELDS, values)
    assert {*found} | {*faults} == {field.name for field in FIELDS}
    assert unclean(found) == []
    for name in ("short", "long"):
        if isinstance(values[name], str) and clean(values[name]).strip():
            assert found[name] == clean(values[name]).strip()


@given(st.dictionaries(TEXTS, TYPED, max_size=3))
def test_values_of_a_request_are_cleaned(values: dict[str, Any]) -> None:
    body = stringified({"kind": "submit", "path": "p", "seen": 1, "key": "12345678", "values": values})
    assert unclean(PerformAction.model_validate_json(clean_json(body)).values) == []
    assert unclean(SaveDraft.model_validate_json(clean_json(body)).values) == []
    event = stringified({"fn_index": 1, "data": [values]})
    assert unclean(PageEvent.model_validate_json(clean_json(event)).data) == []


def stringified(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(st.binary(max_size=80) | st.builds(lambda text: text.encode("utf-8", "surrogatepass"), TEXTS))
def test_any_body_is_a_request_or_refused(body: bytes) -> None:
    for model in (PerformAction, PageEvent):
        with suppress(ValidationError):
            model.model_validate_json(clean_json(body))
