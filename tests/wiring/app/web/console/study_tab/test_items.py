"""The console's tab Items: a table is uploaded, mapped, checked, written into the draft, and reaches participants."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.studies.pool_text import pools_in
from app.web.console.study_tab.items import PARTS
from storage.db.engine import Database
from storage.registers.study_versions import current
from tests.fakes.console import Room, console
from tests.fakes.http_bot import HttpBot
from tests.fakes.researcher import Researcher, draft, text, value, visible
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
    assert "not an option; allowed: A, B" in text(mapped["items-understood"])
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
    start = {"walk-step": "", "walk-where": [], "walk-language": None}
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


async def test_edit_is_checked_again_when_it_is_opened_after_an_upload(at: Console) -> None:
    room, researcher = at
    room.desk.drafts.save("sums", f"{STUDY}problems: {{questions: {{path: q.csv, columns: {MAPPED}}}}}\n")
    before = await researcher.on("bench-Edit", "select")
    await upload(researcher, "q.csv", CSV)
    after = await researcher.on("bench-Edit", "select")
    assert [one["publish-ask"]["interactive"] for one in (before, after)] == [False, True], value(after["faults"])
    assert str(room.desk.drafts.folder("sums")) not in value(before["faults"])


async def test_what_is_wrong_in_the_study_file_is_not_said_of_its_items(at: Console) -> None:
    room, researcher = at
    missing = "<code>q.csv</code>"
    for pool, says in ((f"{{path: q.csv, columns: {MAPPED}}}", True), ("{path: q.csv, source: itms}", False)):
        room.desk.drafts.save("sums", f"{STUDY}problems: {{questions: {pool}}}\n")
        assert (missing in value((await researcher.on("bench-Edit", "select"))["faults"])) == says
        await upload(researcher, "q.csv", CSV)
    room.desk.drafts.save("sums", f"{STUDY}problems: {{questions: {{path: q.csv, columns: {MAPPED}}}}}\n : [")
    shown = await researcher.on("bench-Items", "select")
    assert "verdict" not in value(shown["items-understood"]), "what its columns are is in a file that cannot be read"
    assert not visible(shown["items-columns"])
