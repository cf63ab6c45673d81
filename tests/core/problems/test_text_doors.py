"""Every door through which a file enters: any bytes are a clean value or one clear error, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.studies.drafts import Drafts, check_text
from app.studies.loader import load_study
from app.use_cases.recruit import listed_ids
from problems.errors import ParleyError
from problems.pools import load_pool
from problems.text import UNFIT, read_text, texts_in
from storage.payments.prolific_export import read_prolific

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
