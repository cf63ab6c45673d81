"""The builder's form in the console: what is answered is written and checked beside it, and becomes a draft."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from app.studies.builder import PARTS, Answers, field_keys
from app.studies.loader import load_study
from app.web.console.study_tab.builder import StudyBuilder
from storage.db.engine import Database
from storage.registers.study_versions import versions
from tests.fakes.asking import KEY
from tests.fakes.console import Room, console, room
from tests.fakes.model_server import serve
from tests.fakes.researcher import Researcher, draft, text, value, visible

pytestmark = pytest.mark.anyio
Console = tuple[Room, Researcher]
ANSWERS = {"b-name": "mine", "b-title": "Mine", "b-consent": "You agree.", "b-take": 2}
GOOD = "verdict good"


@pytest.fixture
async def at(tmp_path: Path, database: Database) -> AsyncIterator[Console]:
    async with console(tmp_path, database) as (made, researcher):
        await researcher.open(tab="studies")
        yield made, researcher


async def answer(researcher: Researcher, **values: Any) -> Any:
    return await researcher.on("b-title", "input", **{**ANSWERS, **values})


def test_the_form_has_the_fields_that_faults_name(tmp_path: Path, database: Database) -> None:
    with room(tmp_path, database) as made, gr.Blocks():
        form = StudyBuilder(made.desk)
        form.build()
    full = Answers(**{f"{part}s": (kind(),) * most for part, (kind, most) in PARTS.items()})
    assert set(form.fields) == field_keys(full)


async def test_the_form_opens_in_place_of_the_tabs_with_the_name_beside_its_button(at: Console) -> None:
    _, researcher = at
    opened = await researcher.on("new-build", "click", **{"new-name": "mine"})
    assert visible(opened["builder"])
    assert not visible(opened["bench"])
    assert value(opened["b-name"]) == "mine"
    assert "b-title" in value(opened["builder-verdict"]), "what is left to do leads to its field"
    back = await researcher.on("b-cancel", "click")
    assert not visible(back["builder"])


async def test_a_model_can_have_a_prompt_of_its_own_and_the_form_opens_with_what_was_kept(at: Console) -> None:
    _, researcher = at
    names = {"b-model_count": "2", "b-models-0-name": "a", "b-models-1-name": "b"}
    prompts = {"b-system": "Be kind.", "b-models-0-system": "Be brief."}
    written = text((await answer(researcher, **names, **prompts))["builder-text"])
    assert "a: {backend: scripted, system: Be brief.}" in written
    assert "b: {backend: scripted, system: Be kind.}" in written
    alone = text((await answer(researcher, **prompts))["builder-text"])
    assert "system: Be kind." in alone
    opened = await researcher.on("new-build", "click", **names, **prompts)
    assert {key: value(opened[key]) for key in (names | prompts)} == names | prompts


async def test_answers_are_written_and_checked_at_once(at: Console, database: Database) -> None:
    room, researcher = at
    good = await answer(researcher)
    assert GOOD in value(good["builder-verdict"])
    assert "study: mine" in text(good["builder-text"])
    wrong = await answer(researcher, **{"b-take": 10_000})
    assert GOOD not in value(wrong["builder-verdict"])
    assert 'href="#b-take"' in value(wrong["builder-verdict"])
    assert room.desk.drafts.names() == (), "nothing is kept"
    assert (list(versions(database, "mine")), room.did) == ([], [])


async def test_a_draft_is_made_and_is_the_study_from_then_on(at: Console) -> None:
    room, researcher = at
    written = text((await answer(researcher))["builder-text"])
    made = await researcher.on("b-create", "click", **ANSWERS)
    assert value(made["study"]) == "mine"
    assert not visible(made["builder"])
    assert " ".join(room.desk.drafts.text("mine").split()) == written.removeprefix("study.yaml ")
    assert draft(made["study-text"]) == room.desk.drafts.text("mine")
    assert GOOD in value(made["faults"])
    assert load_study(str(room.desk.drafts.folder("mine"))).name == "mine"
    assert [about for _, _, about in room.did] == ["mine"]


async def test_a_name_that_cannot_be_had_makes_nothing(at: Console) -> None:
    room, researcher = at
    await researcher.on("b-create", "click", **ANSWERS)
    before = room.desk.drafts.text("mine"), room.desk.drafts.names(), list(room.did)
    wrong = {"mine": "already", "no name!": "is no name for a study", "../up": "is no name", "": "Type a name"}
    for name, said in wrong.items():
        for button, field in (("b-create", "b-name"), ("new-make", "new-name")):
            refused = await researcher.on(button, "click", **{**ANSWERS, field: name, "b-title": "Other"})
            assert "note bad" in value(refused["note"]), name
            assert said in text(refused["note"]), name
        assert (room.desk.drafts.text("mine"), room.desk.drafts.names(), room.did) == before
        assert 'href="#b-name"' in value((await answer(researcher, **{"b-name": name}))["builder-verdict"]), name


async def test_the_next_study_begins_as_the_first_did(at: Console) -> None:
    _, researcher = at
    fields = {
        name for event in researcher.events if ("b-title", "input") in event.of for name in researcher.sent(event)
    }
    first = await researcher.on("new-build", "click")
    made = await researcher.on("b-create", "click", **{**ANSWERS, "b-places": 60, "b-codes-complete": "SECRET"})
    for name in fields - {"b-name"}:
        assert (value(made[name]) or "") == (value(first[name]) or ""), name
    refused = await researcher.on("b-create", "click", **ANSWERS)
    assert "value" not in dict(refused["b-places"]), "and nothing is lost where none was made"


async def test_why_models_are_not_tested_is_said_where_it_said_that_they_are(at: Console) -> None:
    _, researcher = at
    tested = await researcher.on("b-test", "click", **{"b-models-0-server": None})
    assert "not complete" in text(tested["b-tested"])


async def test_the_models_are_tested_before_there_is_a_draft(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {
        "b-model_count": "2",
        "b-models-0-server": "openai@lab",
        "b-models-0-model": "sound",
        "b-models-1-server": "openai@ollama",
        "b-models-1-model": "llama3.2",
    }
    with serve() as server:
        monkeypatch.setenv("PARLEY_MODEL_SERVERS", json.dumps({"lab": {"url": server.base_url, "key": KEY}}))
        async with console(tmp_path, database) as (_, researcher):
            await researcher.open(tab="studies")
            tested = value((await researcher.on("b-test", "click", **models))["b-tested"])
            opened = await researcher.on("new-build", "click", **models)
    rows = dict(re.findall(r"<dt>([\w.]+)</dt>(.*?)</dd>", tested, re.DOTALL))
    assert "Reply with one short sentence" in rows["sound"]
    assert "PARLEY_MODEL_SERVERS" in rows["llama3.2"]
    assert "PARLEY_MODEL_SERVERS" not in value(opened["b-hint-0"]), "it is set up"
    assert "PARLEY_MODEL_SERVERS" in value(opened["b-hint-1"])
    assert ["lab (a server of this deployment)", "openai@lab"] in opened["b-models-1-server"]["choices"]
    assert KEY not in tested


async def test_an_analyst_builds_nothing(at: Console) -> None:
    room, researcher = at
    room.as_("analyst")
    for component, kind in (("new-build", "click"), ("b-title", "input"), ("b-create", "click"), ("b-test", "click")):
        answered = await researcher.on(component, kind, **ANSWERS)
        assert "Only owners" in value(answered["note"]), component
    assert (room.desk.drafts.names(), room.did) == ((), [])


async def test_nothing_chosen_anywhere_is_no_accident(at: Console) -> None:
    """A browser can send nothing for a field that always has a value."""
    _, researcher = at
    event = next(event for event in researcher.events if ("b-title", "input") in event.of)
    names = [
        name for name, _ in event.of if not name.endswith("protocols")
    ]  # Gradio itself refuses a list that is none
    for few in (names[start::8] for start in range(8)):
        answered = await researcher.fire(event, {**researcher.place, **ANSWERS, **dict.fromkeys(few)})
        assert "builder-text" in answered, few
