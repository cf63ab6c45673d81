"""Pictures that participants attach: uploaded, seen by the model, read by nobody else, and erased with the session."""

from __future__ import annotations

import asyncio
import csv
import json
from functools import partial
from pathlib import Path

import pytest
from httpx2 import AsyncClient, Response

from app.annotation.annotators.registry import annotators
from app.annotation.run import plan_annotations
from app.annotation.validation_study import linked_picture, write_sample
from app.backends.model_ref import ModelRef
from app.bots.http_participant import HttpParticipant, Measured
from app.bots.random_bot import RandomBot
from app.rendering.markdown import render_message
from app.studies.loader import load_study
from app.web.participant.picture_reader import NO_PICTURE
from experiments.study.sections.model_spec import ModelSpec
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from storage.registers.session_pictures import picture_contents
from storage.reports.conversations import conversations
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import serve as serve_models
from tests.fakes.pictures import drawn, photo, uri
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
SECRET = "zq_where_it_was_taken_qz"


def study(folder: Path, **model: object) -> Path:
    raw = {
        "study": "seen",
        "title": "Seen",
        "problems": {"items": {"items": [{"question": "What is it?"}]}},
        "models": {"one": {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}, **model}},
        "flow": [
            {"each": "item", "of": "items", "flow": [{"step": "chat", "model": "one", "attach": ["image"]}]},
            {"step": "finish"},
        ],
    }
    return studies.write(folder, raw)


async def upload(bot: HttpBot, content: bytes, key: str = "a" * 32, **more: str) -> Response:
    query = {"view": "screen", "path": bot.screen.path, "seen": str(bot.screen.seen), "key": key, **more}
    answer = await bot.send("POST", "/api/picture", params=query, content=content)
    await bot.look()
    return answer


def stored(database: Database) -> dict[str, bytes]:
    return {
        sha256: bytes(content) for sha256, content in query(database, "SELECT sha256, content FROM session_picture")
    }


def remains(folder: Path, content: bytes) -> bool:
    """Whether some part of a picture is in the database's files."""
    held = b"".join(file.read_bytes() for file in sorted(folder.glob("parley.db*")))
    return any(content[at : at + 24] in held for at in range(40, len(content) - 24, 24))


async def test_a_picture_from_upload_to_erasure(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with (
        serving(settings, study(tmp_path)) as served,
        HttpBot(served.url, "1") as bot,
        HttpBot(served.url, "2") as other,
    ):
        await bot.arrive("seen")
        await other.arrive("seen")
        answer = await upload(bot, photo(120, 90, SECRET))
        assert (answer.status_code, answer.json()["note"]) == (200, "")
        again = await upload(bot, photo(120, 90, SECRET))
        assert again.status_code == 200
        assert [event.kind for event in facts(served.database, bot.stream)][-1:] == ["attached"], "once, by its key"
        ((sha256, content),) = stored(served.database).items()
        assert SECRET.encode() not in content
        assert remains(tmp_path, content)
        for reader, status in ((bot, 200), (other, 404)):
            found = await reader.send("GET", f"/attached/{sha256}")
            assert (found.status_code, found.headers["cache-control"]) == (status, "no-store")
            assert (found.content == content) == (status == 200)
            assert (await reader.send("GET", f"/picture/{sha256}")).status_code == 404
        await bot.do("say", {"text": ""})
        await bot.listen()
        await bot.look()
        assert bot.screen.panel.chat.messages[-1].text.startswith("I see 1 picture (120 x 90 pixels).")
        said = next(event for event in facts(served.database, bot.stream) if event.kind == "said")
        assert said.data["pictures"][0] == {
            "sha256": sha256,
            "type": "image/jpeg",
            "width": 120,
            "height": 90,
            "bytes": len(content),
        }
        (request,) = query(served.database, "SELECT request FROM attempt")
        assert json.loads(request[0])["messages"][-1]["pictures"] == [sha256]
        await upload(bot, drawn(), "b" * 32)
        (unsent,) = set(stored(served.database)) - {sha256}
        await bot.do("detach", {"picture": unsent})
        assert set(stored(served.database)) == {sha256}
        await bot.do("withdraw", {})
        assert stored(served.database) == {}
        assert (await bot.send("GET", f"/attached/{sha256}")).status_code == 404
    assert not remains(tmp_path, content), "no byte of it is left in the database's files"


async def test_odd_files_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), study(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        for path in ("/api/picture", "/api/picture?path=x&seen=1&key=" + "a" * 32):
            assert (await bot.send("POST", path, content=drawn())).status_code in (401, 422)
        await bot.arrive("seen")
        seen = len(facts(served.database, bot.stream))
        for content, note in ((b"<svg/>", NO_PICTURE), (b"", NO_PICTURE), (drawn() + bytes(10_000_000), None)):
            answer = await upload(bot, content)
            assert answer.status_code == 200
            assert answer.json()["note"] == note if note else answer.json()["note"]
        assert (await upload(bot, bytes(20_000_001))).status_code == 413
        forged = {"sha256": "0" * 64, "type": "image/png", "width": 1, "height": 1, "bytes": 1}
        assert (await bot.do("attach", {"picture": forged})).note
        assert (len(facts(served.database, bot.stream)), stored(served.database)) == (seen, {})


async def test_a_model_at_a_server_is_sent_what_was_attached(tmp_path: Path) -> None:
    with serve_models() as models:
        settings = settings_for(tmp_path, openai_base_url=models.base_url)
        file = study(tmp_path, backend="openai", options={}, sees=["image"])
        async with serving(settings, file) as served, HttpBot(served.url, "1") as bot:
            await bot.arrive("seen")
            await upload(bot, drawn(60, 40))
            await bot.do("say", {"text": "What is it?"})
            await bot.listen()
            content = models.requests[-1].body["messages"][-1]["content"]
            (sent,) = stored(served.database).values()
            assert [part["type"] for part in content] == ["image_url", "text"]
            assert content[0]["image_url"]["url"] == uri(sent)
            assert "base64" not in "".join(
                str(row) for row in query(served.database, "SELECT request, sent, raw FROM attempt")
            )


async def test_an_export_has_the_sent_pictures_beside_its_messages(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), study(tmp_path)) as served, HttpBot(served.url, "1") as bot:
        await bot.arrive("seen")
        await upload(bot, photo(120, 90))
        await bot.do("say", {"text": "What is it?"})
        await bot.listen()
        await bot.look()
        (sent,) = stored(served.database).items()
        await upload(bot, drawn(), "b" * 32)
        path = f"pictures/{sent[0]}.jpg"
        for masked, written in ((False, [path]), (True, [])):
            folder = tmp_path / ("masked" if masked else "out")
            manifest = export(served.database, ExportRequest("seen", "tidy", mask=masked), folder)
            found = {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob("pictures/*")}
            assert found == dict.fromkeys(written, sent[1]), "what was not sent is not there"
            (table,) = (one for one in manifest.files if one.table.name == "messages")
            rows = csv.DictReader((folder / table.path).read_text(encoding="utf-8").splitlines())
            assert [row["pictures"] for row in rows] == [path, ""]
            assert (path in (folder / "SHA256SUMS").read_text(), len(manifest.pictures)) == (
                bool(written),
                len(written),
            )
            assert (path in (folder / "metadata.json").read_text()) == bool(written)
        await bot.do("submit", {})
        check_annotated(served.database, *sent)
        check_labelled(served.database, tmp_path / "label", *sent)
        await bot.do("withdraw", {})
        folder = tmp_path / "out"
        export(served.database, ExportRequest("seen", "tidy"), folder)
        assert list(folder.glob("pictures/*")) == [], "the next export removes what was withdrawn"


def check_annotated(database: Database, sha256: str, content: bytes) -> None:
    """A model that annotates is shown the pictures if it sees them, and else reads that there are some."""
    (annotator,) = annotators(["user_effort"], {})
    models = [ModelRef("judge", ModelSpec(backend="openai", sees=sees)) for sees in (("image",), None)]
    plan = plan_annotations(database, "seen", "person", [(annotator, model) for model in models])
    asked = [prompt.request.messages[-1] for cell in plan.cells if (prompt := cell.next(()))]
    assert [[one.content for one in message.pictures] for message in asked] == [[content], []]
    assert all("[Picture, 120 x 90 pixels]" in message.text for message in asked)
    assert len({cell.key for cell in plan.cells}) == 2
    assert [one["sha256"] for one in plan.cells[0].conversation.pictures] == [sha256]


def check_labelled(database: Database, folder: Path, sha256: str, content: bytes) -> None:
    """People who label a conversation see its pictures."""
    (annotator,) = annotators(["user_effort"], {})
    found = [*conversations(database, "seen", "person", picture_text=linked_picture)]
    path = write_sample(folder, annotator, found, "secret", partial(picture_contents, database))
    study = load_study(str(path))
    (problem,) = study.pools["conversations"]
    assert (folder / f"pictures/{sha256}.jpg").read_bytes() == content
    shown = render_message(problem.dialogue[0].text, dollars=False, typed=True, pictures=study.pictures)
    assert f'<img src="picture/{sha256}" alt="Picture, 120 x 90 pixels"' in shown


async def test_simulated_people_attach_pictures_over_http(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), study(tmp_path)) as served:
        for seed in map(str, range(8)):
            async with AsyncClient(base_url=served.url, timeout=60) as client:
                person, bot, kinds = HttpParticipant(client, dict, measured := Measured()), RandomBot(seed), []
                screen = await person.arrive("/s/seen")
                while not screen.ended:
                    if screen.panel.chat and screen.panel.chat.waiting:
                        screen = await person.listen()
                        continue
                    kind, values = bot.act(screen)
                    kinds.append(kind)
                    assert await person.act(kind, values) == ""
                    screen = await person.look()
                assert measured.refused_requests == 0
                if "attach" in kinds:
                    break
        assert "attach" in kinds
        assert stored(served.database)


@pytest.mark.nightly
async def test_what_was_attached_is_there_after_a_kill(tmp_path: Path) -> None:
    process = Process(tmp_path, (study(tmp_path),))
    process.start()
    try:
        async with HttpBot(process.url, "1", patience_s=60) as bot:
            await bot.arrive("seen")
            assert (await upload(bot, drawn(60, 40))).json()["note"] == ""
            await asyncio.to_thread(process.kill)
            await asyncio.to_thread(process.start)
            await bot.look()
            (picture,) = bot.screen.panel.chat.attachments.pictures
            assert (await bot.send("GET", f"/attached/{picture.sha256}")).status_code == 200
            assert (await upload(bot, drawn(60, 40))).json()["note"] == ""
            assert len(bot.screen.panel.chat.attachments.pictures) == 1
    finally:
        process.kill()
