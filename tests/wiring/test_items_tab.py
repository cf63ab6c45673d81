"""The console's tab Items: a table is uploaded, mapped, checked, written into the draft, and reaches participants."""

from __future__ import annotations

import html
import io
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from app.studies.item_files import LARGEST_BYTES
from app.studies.loader import load_study
from app.studies.pool_text import pools_in
from app.web.console.study_tab.items import PARTS
from app.web.console.study_tab.preview import WRITTEN
from storage.db.engine import Database
from storage.registers.study_versions import current, publish_on_start
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.http_bot import HttpBot
from tests.fakes.researcher import Researcher, draft, text, value
from tests.fakes.served import serving

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
STUDY = """study: sums
title: Sums
models: {tutor: {backend: scripted}}
flow:
  - {each: question, of: questions, do: user-alone}
  - {step: finish}
"""
CSV = "Frage;eins;zwei;Lösung;Fach\nWas ist 1 + 1?;2;3;2;Zahlen\nWas ist 2 + 2?;5;4;4;Zahlen\n"
MAPPED: dict[str, Any] = {"question": "Frage", "options": ["eins", "zwei"], "answer": "Lösung"}


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    """A console with a draft that has no items yet."""
    async with console(tmp_path, database) as (room, researcher):
        room.desk.drafts.create("sums", "arena")
        room.desk.drafts.save("sums", STUDY)
        await researcher.open(tab="studies", study="sums")
        yield room, researcher


async def upload(researcher: Researcher, name: str, content: bytes | str, **shown: Any) -> Mapping[str, Any]:
    sent = content.encode() if isinstance(content, str) else content
    parts = {"items-name": name, "items-content": b64encode(sent).decode()}
    return await researcher.on("items-upload", "click", **{**columns(""), **shown, **parts})


def columns(file: str, **parts: Any) -> dict[str, Any]:
    """The dropdowns, as they are when these are chosen."""
    blank: Mapping[str, Any] = {"options": [], "tags": []}
    chosen = {f"items-{part}": parts.get(part, blank.get(part, "")) for part in PARTS}
    return {"items-file": file, **chosen}


async def write(researcher: Researcher, file: str, pool: str = "questions", **parts: Any) -> Mapping[str, Any]:
    return await researcher.on("items-write", "click", **columns(file, **parts), **{"items-pool": pool})


def rows(shown: Mapping[str, Any]) -> list[Sequence[str]]:
    body = value(shown["items-understood"]).partition("<tbody>")[2]
    return [[text(cell) for cell in re.findall(r"<td.*?</td>", row)] for row in body.split("</tr>")[:-1]]


async def test_a_table_is_uploaded_mapped_written_published_and_answered(at: Console, database: Database) -> None:
    room, researcher = at
    shown = await upload(researcher, "Fragen.csv", CSV.replace("5;4;4", "5;4;6"))
    assert "Choose the column that holds the question" in text(shown["items-understood"])
    assert shown["items-question"]["choices"][1:] == [[name, name] for name in CSV.split("\n")[0].split(";")]

    mapped = await researcher.on("items-question", "input", **columns("Fragen.csv", **MAPPED))
    assert "line 3" in text(mapped["items-understood"])
    assert "no option; allowed: A, B" in text(mapped["items-understood"])
    assert [row[0] for row in rows(mapped)] == ["line 2"]
    assert mapped["items-insert"]["visible"] is False
    refused = await write(researcher, "Fragen.csv", **MAPPED)
    assert "cannot be used" in value(refused["note"])
    assert room.desk.drafts.text("sums") == STUDY

    mapped = await upload(researcher, "Fragen.csv", CSV, **columns("Fragen.csv", **MAPPED))
    assert [value(mapped[f"items-{part}"]) for part in PARTS] == ["Frage", ["eins", "zwei"], "Lösung", "", []]
    assert rows(mapped) == [
        ["line 2", "Fragen-1", "Was ist 1 + 1?", "A 2 B 3", "A", "fach: Zahlen"],
        ["line 3", "Fragen-2", "Was ist 2 + 2?", "A 5 B 4", "B", "fach: Zahlen"],
    ]
    page = html.unescape(value(mapped["items-page"]))
    assert "Was ist 1 + 1?" in page
    assert page.count('type="radio"') == 2
    other = await researcher.on("items-which", "input", **columns("Fragen.csv", **MAPPED), **{"items-which": "1"})
    assert "Was ist 2 + 2?" in html.unescape(value(other["items-page"]))

    done = await write(researcher, "Fragen.csv", **MAPPED)
    assert "verdict good" in value(done["faults"])
    assert pools_in(draft(done["study-text"])) == {"questions": {"path": "Fragen.csv", "columns": MAPPED}}
    assert room.desk.drafts.text("sums") == draft(done["study-text"])
    start = {"walk-which": WRITTEN, "walk-step": "", "walk-where": [], "walk-language": None}
    walk = value((await researcher.on("walk-go", "click", **start))["walk-link"])
    (path,) = re.findall(r'href="http://[^/]+(/walk/[\w.-]+)"', walk)
    plan = await researcher.on("publish-ask", "click", **{"study-text": room.desk.drafts.text("sums")})
    await researcher.on("publish-yes", "click", **{"text-hash": value(plan["text-hash"])})
    await researcher.on("decide-opened", "click")
    (room.desk.drafts.folder("sums") / "Fragen.csv").unlink()
    assert [one.answer for one in current(database, "sums").pools["questions"]] == ["A", "B"], "it is frozen with them"
    async with serving(room.desk.settings) as server, HttpBot(server.url, "ann") as bot:
        await bot.arrive("sums")
        assert "Was ist" in str(await bot.look())
        async with HttpBot(server.url, "walker") as walker:
            await walker.send("GET", path)
            assert "Was ist" in str(await walker.look())
    did = [what for _, what, about in room.did if about == "sums"]
    assert did[:3] == ["uploaded Fragen.csv", "uploaded Fragen.csv", "wrote the pool questions from Fragen.csv"]


@pytest.mark.nightly
async def test_usual_columns_are_recognised_and_a_part_can_be_taken_back(at: Console) -> None:
    _, researcher = at
    shown = await upload(researcher, "q.jsonl", '{"question": "Why?", "answer": "So.", "topic": "x"}\n')
    assert [value(shown[f"items-{part}"]) for part in PARTS] == ["question", [], "answer", "", []]
    assert rows(shown) == [["line 1", "q-1", "Why?", "free answer", "So.", "topic: x"]]
    mapped = await researcher.on("items-answer", "input", **columns("q.jsonl", question="question"))
    assert rows(mapped) == [["line 1", "q-1", "Why?", "free answer", "", "answer: So. topic: x"]]
    await write(researcher, "q.jsonl", question="question")
    again = await researcher.open(tab="studies", study="sums")
    assert [value(again[f"items-{part}"]) for part in PARTS] == ["question", [], "", "", ["answer", "topic"]]


@pytest.mark.nightly
async def test_a_sheet_and_where_numbers_begin_are_chosen(at: Console) -> None:
    room, researcher = at
    book, content = Workbook(), io.BytesIO()
    first, second = book.active, book.create_sheet("More")
    for sheet, question in ((first, "One?"), (second, "Two?")):
        for row in (["question", "a", "b", "c", "answer"], [question, "x", "y", "z", 1]):
            sheet.append(row)
    book.save(content)
    shown = await upload(researcher, "q.xlsx", content.getvalue())
    assert (value(shown["items-sheet"]), len(shown["items-sheet"]["choices"])) == ("Sheet", 2)
    assert "answers_from" in text(shown["items-understood"])
    shown = await researcher.on("items-sheet", "select", **{"items-file": "q.xlsx", "items-sheet": "More"})
    parts = {"question": "question", "options": ["a", "b", "c"], "answer": "answer"}
    assert [value(shown[f"items-{part}"]) for part in parts] == [*parts.values()]
    chosen = {**columns("q.xlsx", **parts), "items-sheet": "More", "items-answers_from": "0"}
    mapped = await researcher.on("items-answers_from", "input", **chosen)
    assert [(row[2], row[4]) for row in rows(mapped)] == [("Two?", "B")]
    await researcher.on("items-write", "click", **chosen, **{"items-pool": "questions"})
    told = {**parts, "sheet": "More", "answers_from": 0}
    assert pools_in(room.desk.drafts.text("sums"))["questions"] == {"path": "q.xlsx", "columns": told}
    again = await researcher.open(tab="studies", study="sums")
    assert (value(again["items-sheet"]), value(again["items-answers_from"])) == ("More", "0")
    assert "verdict good" in value(again["faults"])


@pytest.mark.nightly
async def test_a_file_is_replaced_and_removed(at: Console) -> None:
    room, researcher = at
    await upload(researcher, "q.csv", "question,a,b,answer\nOne?,x,y,A\n")
    await upload(researcher, "other.csv", "question\nTwo?\n")
    parts = {"question": "question", "options": ["a", "b"], "answer": "answer"}
    await write(researcher, "q.csv", **parts)
    shown = await researcher.on("items-file", "select", **{"items-file": "other.csv"})
    assert [row[2] for row in rows(shown)] == ["Two?"]
    kept = await researcher.on("items-remove", "click", **{"items-file": "q.csv"})
    assert "is read by the pool questions" in value(kept["note"])
    gone = await researcher.on("items-remove", "click", **{"items-file": "other.csv"})
    assert gone["items-file"]["choices"] == [["q.csv", "q.csv"]]
    replaced = await upload(researcher, "q.csv", "question,a,b,answer\nOne?,x,y,A\nTwo?,x,y,B\n")
    assert len(rows(replaced)) == 2
    checked = await researcher.open(tab="studies", study="sums")
    assert "verdict good" in value(checked["faults"])
    assert room.did[-1][1] == "uploaded q.csv"
    lost = room.desk.drafts.text("sums").replace("q.csv", "gone.csv")
    typed = {"study-text": lost, "text-mark": value(checked["text-mark"])}
    faults = value((await researcher.on("study-text", "input", **typed))["faults"])
    assert "gone.csv" in faults
    assert "<em>Items</em>" in faults, "it says where a file is uploaded"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("q.csv", "?" * (LARGEST_BYTES + 1), "at most"),
        ("../../q.csv", CSV, "no name for a file"),
        ("q.pdf", CSV, "no table"),
        ("q.xlsx", CSV, "no Excel file"),
        ("q.arrow", CSV, "cannot be read as .arrow"),
    ],
)
async def test_what_is_no_table_is_refused_in_words(at: Console, name: str, content: str, says: str) -> None:
    room, researcher = at
    refused = await upload(researcher, name, content)
    assert says in value(refused["note"])
    assert str(room.desk.settings.studies_dir) not in value(refused["note"])
    assert [path.name for path in room.desk.drafts.folder("sums").iterdir()] == ["study.yaml"]
    assert room.did == []


@pytest.mark.nightly
async def test_what_no_page_of_ours_sends_is_refused_in_words(at: Console) -> None:
    room, researcher = at
    await upload(researcher, "q.csv", CSV)
    before = room.desk.drafts.text("sums")
    sent = {"items-name": "q.csv", "items-content": "not base64!"}
    assert "as a whole" in value((await researcher.on("items-upload", "click", **sent))["note"])
    chosen = columns("q.csv", **MAPPED)
    for which in ("7", "-1", "x", ""):
        shown = await researcher.on("items-which", "input", **chosen, **{"items-which": which})
        assert "no such item" in value(shown["note"])
    assert "type a name" in value((await write(researcher, "q.csv", "", **MAPPED))["note"])
    for pool in ("a b", "1st", "x: {}"):
        assert "no name for a pool" in value((await write(researcher, "q.csv", pool, **MAPPED))["note"])
    for file in ("study.yaml", "../sums/q.csv", "gone.csv", ""):
        assert "no file" in value((await write(researcher, file, **MAPPED))["note"])
        assert "no file" in value((await researcher.on("items-remove", "click", **{"items-file": file}))["note"])
    assert "no column" in text(
        (await researcher.on("items-tags", "input", **columns("q.csv", **MAPPED, tags=["x"])))["items-understood"]
    )
    assert room.desk.drafts.text("sums") == before


@pytest.mark.nightly
async def test_an_analyst_sees_the_items_and_changes_none(at: Console) -> None:
    room, researcher = at
    await upload(researcher, "q.csv", CSV)
    room.as_("analyst")
    seen = await researcher.open(tab="studies", study="sums")
    assert [seen[part]["visible"] for part in ("items-remove", "items-insert")] == [False, False]
    mapped = await researcher.on("items-question", "input", **columns("q.csv", **MAPPED))
    assert len(rows(mapped)) == 2
    done = len(room.did)
    for refused in (
        await upload(researcher, "r.csv", CSV),
        await write(researcher, "q.csv", **MAPPED),
        await researcher.on("items-remove", "click", **{"items-file": "q.csv"}),
    ):
        assert "Only owners" in value(refused["note"])
    assert room.desk.drafts.text("sums") == STUDY
    assert len(room.did) == done


async def create(researcher: Researcher, name: str, like: str) -> Mapping[str, Any]:
    updates = await researcher.on("new-make", "click", **{"new-name": name, "new-like": like})
    researcher.place["study"] = name
    return updates


@pytest.mark.nightly
async def test_own_studies_are_templates_with_their_files(at: Console, database: Database, tmp_path: Path) -> None:
    room, researcher = at
    await upload(researcher, "q.csv", CSV)
    await write(researcher, "q.csv", **MAPPED)
    publish_on_start(database, load_study(str(studies.short(tmp_path))), at_us=1_000_000)
    page = await researcher.open(tab="studies", study="short")
    offered = dict(page["new-like"]["choices"])
    assert {"demo", "draft:sums", "published:short"} <= set(offered.values())

    made = await create(researcher, "more-sums", "draft:sums")
    assert "verdict good" in value(made["faults"])
    assert value(made["items-file"]) == "q.csv"
    await upload(researcher, "q.csv", CSV + "Was ist 3?;3;4;3;x\n")
    assert (room.desk.drafts.folder("sums") / "q.csv").read_text(encoding="utf-8") == CSV

    served = await create(researcher, "short", "published:short")
    assert "verdict good" in value(served["faults"])
    assert served["publish-ask"]["interactive"] is False, "it is the published study, until it is edited"
    copied = await create(researcher, "shorter", "published:short")
    assert draft(copied["study-text"]).startswith("study: shorter\n")
    assert "verdict good" in value(copied["faults"])

    await researcher.open(tab="studies", study="sums")
    plan = await researcher.on("publish-ask", "click", **{"study-text": room.desk.drafts.text("sums")})
    await researcher.on("publish-yes", "click", **{"text-hash": value(plan["text-hash"])})
    third = await create(researcher, "third", "published:sums")
    assert pools_in(room.desk.drafts.text("third")) == {"questions": {"source": "jsonl", "path": "questions.jsonl"}}
    assert [row[2:5] for row in rows(third)] == [["Was ist 1 + 1?", "A 2 B 3", "A"], ["Was ist 2 + 2?", "A 5 B 4", "B"]]
    assert third["items-columns"]["visible"] is False
    other = await researcher.on("items-which", "input", **columns("questions.jsonl"), **{"items-which": "1"})
    assert "Was ist 2 + 2?" in html.unescape(value(other["items-page"]))

    for like in ("draft:nothing", "published:nothing", "draft:../sums", "published:", "x"):
        drafts = room.desk.drafts.names()
        refused = await researcher.on("new-make", "click", **{"new-name": "another", "new-like": like})
        assert 'class="note bad"' in value(refused["note"]), like
        assert room.desk.drafts.names() == drafts
