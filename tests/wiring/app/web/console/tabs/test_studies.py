"""The console's room of studies: making, writing, publishing, running and walking through one; and who may not."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.studies.drafts import LARGEST_BYTES
from app.studies.loader import load_study, read_yaml
from app.web.console.study_tab.recruitment import cell_of
from experiments.errors import NotPossible
from experiments.session.engine import fold
from storage.accounts.model_servers import SavedServer, save_server
from storage.db.engine import Database
from storage.registers.study_status import operations_of
from storage.registers.study_versions import publish_on_start, versions
from tests.fakes import studies
from tests.fakes.console import Room, console
from tests.fakes.http_bot import HttpBot
from tests.fakes.researcher import Researcher, draft, value, visible
from tests.fakes.served import SECRET, serving, settings_for
from tests.fakes.sessions import study
from tests.fakes.sitting import Sitting
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
CHANGES = (
    *(("decide-piloted", "click"), ("decide-opened", "click"), ("decide-paused", "click"), ("close-yes", "click")),
    *(
        ("set-quota", "click"),
        ("remove-budget", "click"),
        ("links-make", "click"),
        ("study-text", "input"),
        ("publish-ask", "click"),
    ),
    *(
        ("models-test", "click"),
        ("publish-yes", "click"),
        ("walk-go", "click"),
        ("new-make", "click"),
        ("decide-closed", "click"),
        ("decide-archived", "click"),
        ("delete-yes", "click"),
        ("new-file", "input"),
        *(("items-upload", "click"), ("items-remove", "click"), ("items-write", "click")),
    ),
)


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    """A console over a study that is open, with its page loaded, and with a model server."""
    save_server(database, SECRET, SavedServer("lab", "vllm", "http://127.0.0.1:9/v1", "Ada", 0, b""), "k", lambda: 1)
    publish_on_start(database, load_study(str(studies.short(tmp_path))), at_us=1_000_000)
    async with console(tmp_path, database) as (room, researcher):
        await researcher.open(tab="studies", study="short")
        yield room, researcher


async def make(researcher: Researcher, name: str, like: str = "arena") -> Mapping[str, Any]:
    updates = await researcher.on("new-make", "click", **{"new-name": name, "new-like": like})
    researcher.place["study"] = name
    return updates


async def write(researcher: Researcher, text: str, mark: str) -> Mapping[str, Any]:
    return await researcher.on("study-text", "input", **{"study-text": text, "text-mark": mark})


async def ask_to_publish(room: Room, researcher: Researcher) -> Mapping[str, Any]:
    return await researcher.on("publish-ask", "click", **{"study-text": room.desk.drafts.text("sums")})


async def publish(room: Room, researcher: Researcher) -> Mapping[str, Any]:
    shown = await ask_to_publish(room, researcher)
    return await researcher.on("publish-yes", "click", **{"text-hash": value(shown["text-hash"])})


async def test_a_study_is_made_written_published_and_opened(at: Console, database: Database) -> None:
    room, researcher = at
    made = await make(researcher, "sums")
    text, mark = draft(made["study-text"]), value(made["text-mark"])
    assert text.startswith("study: sums\n")
    assert value(made["study"]) == "sums"

    wrong = await write(researcher, text.replace("flow:", "flwo:"), mark)
    assert re.search(r"line \d+.*flwo", value(wrong["faults"]), re.DOTALL)
    assert "flwo" in room.desk.drafts.text("sums"), "nothing is lost, right or wrong"
    again = await researcher.open(tab="studies", study="sums")
    assert "flwo" in draft(again["study-text"])
    with_faults = await ask_to_publish(room, researcher)
    assert "has errors" in value(with_faults["note"])
    assert not versions(database, "sums")

    right = await write(researcher, text, value(wrong["text-mark"]))
    assert "verdict good" in value(right["faults"])
    done = await publish(room, researcher)
    (version,) = versions(database, "sums")
    assert version.hash[:12] in value(done["note"])
    assert operations_of(database, "sums").state == "published"
    await researcher.on("decide-opened", "click")
    assert operations_of(database, "sums").state == "open"
    assert [what.split()[0] for _, what, about in room.did if about == "sums"] == ["created", "published", "opened"]


async def test_a_text_is_saved_in_the_draft_it_is_of_and_only_over_the_text_it_was_made_from(at: Console) -> None:
    room, researcher = at
    of_other = await make(researcher, "other")
    made = await make(researcher, "sums")
    text, other = draft(made["study-text"]), draft(of_other["study-text"])
    saved = await write(researcher, f"{other}# typed\n", value(of_other["text-mark"]))  # while another one is chosen
    assert room.desk.drafts.text("other") == f"{other}# typed\n"
    assert room.desk.drafts.text("sums") == text
    assert value(saved["text-mark"]).startswith("other ")

    first = await write(researcher, f"{text}# first\n", value(made["text-mark"]))
    assert not value(first["text-refused"])
    second = await write(researcher, f"{text}# second\n", value(made["text-mark"]))
    assert "changed by someone else" in value(second["text-refused"])
    assert value(second["text-mark"]) is None, "so that the page knows that it was refused"
    assert room.desk.drafts.text("sums") == f"{text}# first\n"
    proposed = await researcher.on("publish-ask", "click", **{"study-text": f"{text}# second\n"})
    assert "not saved" in value(proposed["note"])
    assert not value(proposed["text-hash"])
    again = await write(researcher, f"{text}# first\n", value(made["text-mark"]))
    assert not value(again["text-refused"]), "it is what is stored"

    large = await write(researcher, f"{text}#{'x' * LARGEST_BYTES}\n", value(again["text-mark"]))
    assert "at most" in value(large["text-refused"])
    assert room.desk.drafts.text("sums") == f"{text}# first\n"


async def test_a_change_is_a_new_version_and_what_it_changes_is_shown_first(at: Console, database: Database) -> None:
    room, researcher = at
    made = await make(researcher, "sums")
    await publish(room, researcher)
    await researcher.on("decide-opened", "click")
    text = draft(made["study-text"]).replace("Which assistant is better?", "Which is <best>?")
    text = text.replace("{backend: scripted, options: {wrong: 0.1}}", "{backend: openai, server: lab}")
    await write(researcher, text, value(made["text-mark"]))
    shown = await ask_to_publish(room, researcher)
    plan = next(words for words in map(value, shown.values()) if isinstance(words, str) and "Publish version" in words)
    assert "The study is running" in plan
    assert re.search(r'class="removed">-.*Which assistant is better\?', plan)
    assert re.search(r'class="added">\+.*Which is &lt;best&gt;\?', plan)
    assert "<code>version:</code>" in plan
    assert re.search(r'class="note warn">models careful:', plan), "nobody tested it"
    await researcher.on("publish-yes", "click", **{"text-hash": value(shown["text-hash"])})
    newer, older = versions(database, "sums")
    assert newer.current
    assert newer.hash != older.hash


async def test_a_walk_through_a_draft_leads_to_the_step_that_was_chosen(at: Console, database: Database) -> None:
    room, researcher = at
    await make(researcher, "sums")
    chosen = {"walk-step": "conversation[*]/compare", "walk-where": [], "walk-language": None}
    done = await researcher.on("walk-go", "click", **chosen)
    (path,) = re.findall(r'href="http://[^/]+(/walk/[\w.-]+)"', value(done["walk-link"]))
    async with serving(room.desk.settings, "demo") as server, HttpBot(server.url, "walker") as walker:
        await walker.send("GET", path)
        assert (await walker.look()).path == "conversation[0]/compare"
        stream = walker.stream
    assert fold(facts(database, stream)).enrolled["origin"] == "pilot"
    assert not versions(database, "sums"), "walking publishes nothing"
    lost = await researcher.on("walk-go", "click", **{**chosen, "walk-step": "nowhere"})
    assert "is not a step of this study" in value(lost["note"])


async def test_a_study_that_was_only_simulated_is_not_open(tmp_path: Path, database: Database) -> None:
    async with Sitting(tmp_path, load_study(str(studies.short(tmp_path)))) as simulated:
        await simulated.begin(origin="bot")
    async with serving(settings_for(tmp_path)) as server, HttpBot(server.url, "somebody") as bot:
        assert (await bot.send("GET", "/s/short")).status_code == 404
    async with console(tmp_path, database) as (_, researcher):
        shown = await researcher.open(tab="studies", study="short")
        for part in ("study-title", "study-head"):
            assert "ot published" in value(shown[part])
        (listed,) = (text for text in map(value, shown.values()) if "all-studies" in str(text))
        assert ">not published</span>" in listed
        assert "/s/short" not in value(shown["study-about"])
        assert not any(visible(shown[f"decide-{kind}"]) for kind in ("opened", "piloted", "paused", "closed"))
        assert not visible(shown["caps-form"])
        assert ">not published</span>" in value((await researcher.enter("monitoring"))["live-head"])


async def test_an_analyst_sees_a_study_and_changes_nothing(at: Console, database: Database) -> None:
    room, researcher = at
    await make(researcher, "sums")
    before = query(database, "SELECT stream, seq, kind FROM event"), room.desk.drafts.text("sums"), list(room.did)
    room.as_("analyst")
    seen = await researcher.open(tab="studies", study="sums")
    assert "sums" in value(seen["study-title"])
    assert json.loads(value(seen["study-text"]))["mark"] == "", "it is only to be read"
    for component, kind in CHANGES:
        answer = await researcher.on(component, kind, **{"study-text": "gone", "new-name": "other"})
        assert "Only owners" in value(answer["note"]), component
    assert (query(database, "SELECT stream, seq, kind FROM event"), room.desk.drafts.text("sums"), room.did) == before


async def test_limits_are_set_and_links_created(at: Console, database: Database) -> None:
    room, researcher = at
    await researcher.on("quota-most", "submit", **{"quota-most": 3})
    await researcher.on("set-budget", "click", **{"budget-most": 2.5})
    await researcher.on("remove-quota", "click")
    assert {"cap-where", "walk-where", "data-where"} <= researcher.free()
    for nothing in ({}, {"quota-most": 2.5}, {"quota-most": 7, "cap-where": ["alone"]}):
        assert 'role="alert"' in value((await researcher.on("set-quota", "click", **nothing))["note"])
    now = operations_of(database, "short")
    assert (now.budget, now.quotas_of(())) == (2.5, ())
    assert cell_of(study("chatbench"), ["condition=answer-first"]) == {"condition": "answer-first"}
    for ids, rows in (("", 4), ("4711\n4712", 2)):
        values = {"links-count": 4, "links-recruiter": "sona", "links-ids": ids}
        made = await researcher.on("links-make", "click", **values)
        found = re.search(r'href="(download/[^"]+)"', value(made["links-made"]))
        assert found, made
        answer = await researcher.client.get(f"/{found[1]}")
        assert answer.headers["content-type"].startswith("text/csv")
        assert answer.text.count("/s/short?") == rows
    assert room.did[-1][2] == "short"


async def test_no_personal_links_are_made_that_the_study_refuses(at: Console, tmp_path: Path) -> None:
    room, researcher = at
    raw = read_yaml(studies.short(tmp_path))
    outcomes = {}
    for number, channels in enumerate((["prolific"], ["prolific", "lab"], [])):
        path = studies.write(tmp_path, raw | {"study": f"by{number}", "recruitment": {"channels": channels}})
        publish_on_start(room.desk.database, load_study(str(path)), at_us=1_000_000)
        made = await researcher.on("links-make", "click", study=f"by{number}", **{"links-count": 10, "links-ids": ""})
        env = {"PARLEY_DATABASE_URL": str(room.desk.database.url), "PARLEY_SECRET": SECRET}
        done = CliRunner().invoke(app, ["recruit", "links", f"by{number}"], env=env)
        outcomes[tuple(channels)] = ('role="alert"' in value(made["note"]), isinstance(done.exception, NotPossible))
    assert outcomes == {("prolific",): (True, True), ("prolific", "lab"): (False, False), (): (False, False)}


async def test_a_study_file_is_uploaded_as_a_draft_and_the_draft_deleted(at: Console) -> None:
    room, researcher = at
    file = "study: brought\ntitle: Brought\nflow:\n- step: finish\n"
    made = await researcher.on("new-file", "input", **{"new-file": file})
    assert (value(made["study"]), draft(made["study-text"])) == ("brought", file)
    for bad in ("", "title: No name", "study: brought\n", "a: [", "study: ../up\n"):
        refused = await researcher.on("new-file", "input", **{"new-file": bad})
        assert 'role="alert"' in value(refused["note"]), bad
    unsure = await researcher.on("delete-yes", "click", study="brought", **{"delete-name": "brough"})
    assert 'class="note warn"' in value(unsure["note"])
    gone = await researcher.on("delete-yes", "click", study="brought", **{"delete-name": "brought"})
    assert value(gone["study"]) == "short"
    assert "brought" not in room.desk.names()
    assert [what for _, what, about in room.did if about == "brought"][-1].startswith("deleted")


async def test_a_closed_study_is_archived_and_deleted_with_its_sessions(
    at: Console, database: Database, tmp_path: Path
) -> None:
    room, researcher = at
    async with Sitting(tmp_path, room.desk.studies.newest("short")) as somebody:
        live = (await somebody.begin("")).live
    refused = await researcher.on("delete-yes", "click", **{"delete-name": "short"})
    assert 'role="alert"' in value(refused["note"])
    await researcher.on("close-yes", "click")
    archived = await researcher.on("decide-archived", "click")
    assert operations_of(database, "short").archived
    assert not visible(archived["decide-archived"])
    opened = await researcher.on("decide-opened", "click")
    assert not operations_of(database, "short").archived
    assert not visible(opened["deleting"])
    await researcher.on("close-yes", "click")
    gone = await researcher.on("delete-yes", "click", **{"delete-name": "short"})
    assert 'role="alert"' not in value(gone["note"])
    assert operations_of(database, "short").archived
    kinds = [event.kind for event in facts(database, live.stream)]
    assert kinds == ["withdrew"]
