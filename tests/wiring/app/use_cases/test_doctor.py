"""`parley doctor`: nothing is wrong in an empty folder; and one thing broken at a time is found where it is."""

from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import inspect

from app.studies.drafts import Drafts
from storage.accounts.model_servers import SavedServer, save_server
from storage.db.engine import open_database
from tests.fakes import reminders, studies
from tests.fakes.commanding import Done, parley
from tests.fakes.http_server import Answer, HttpFake, Request, serve
from tests.fakes.let_go import let_go
from tests.fakes.mail_server import mail_server
from tests.fakes.model_list import KEY, Listing, model_list
from tests.fakes.postgres import POSTGRES_BY_NIGHT
from tests.fakes.served import SECRET, Served, serving_aside, settings_for
from tests.fakes.studies import short

FREE = {"PARLEY_PORT": "0", "PARLEY_CONSOLE_PORT": "0"}
STUDY = """\
study: mine
title: Mine
problems: {{questions: {{source: chatbench}}}}
models: {{only: {{backend: {backend}, server: {server}, model: {model}}}}}
flow:
  - {{each: question, of: questions, take: 1, do: direct-to-AI}}
  - step: finish
"""


class Examined:
    """What the doctor found."""

    def __init__(self, done: Done) -> None:
        self.done = done
        self.rows: list[dict[str, str]] = json.loads(done.stdout)
        self.errors = sum(row["level"] == "problem" for row in self.rows)
        assert done.returncode == (1 if self.errors else 0)
        assert all(row["to_do"] for row in self.rows if row["level"] == "warning"), self.rows

    def about(self, area: str, level: str, *facts: str) -> bool:
        """Whether a finding of this area and level names all of these facts."""
        texts = [f"{row['what']} {row['to_do']}" for row in self.rows if (row["area"], row["level"]) == (area, level)]
        return any(all(fact in text for fact in facts) for text in texts)


Examine = Callable[..., Examined]


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    for name in ("SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, **env: str) -> Examined:
        return Examined(parley("doctor", *words, "--json", folder=tmp_path, **{**FREE, **env}))

    return run


@pytest.fixture
def listing() -> Iterator[Listing]:
    with model_list() as found:
        yield found


def lab(listing: Listing, key: str = KEY) -> dict[str, str]:
    return {"PARLEY_MODEL_SERVERS": json.dumps({"lab": {"url": listing.url, "key": key}})}


def study(folder: Path, backend: str = "openai", server: str = "lab", model: str = "gpt-fake") -> str:
    (folder / "mine.yaml").write_text(STUDY.format(backend=backend, server=server, model=model), encoding="utf-8")
    return "mine.yaml"


def test_nothing_is_wrong_in_an_empty_folder_and_nothing_is_made_there(examine: Examine, tmp_path: Path) -> None:
    found = examine()
    assert (found.errors, [*tmp_path.iterdir()]) == (0, [])


def test_nothing_is_wrong_with_a_database_in_use(examine: Examine, tmp_path: Path) -> None:
    parley("publish", "demo", folder=tmp_path)
    found = examine()
    assert found.errors == 0
    assert found.about("database", "ok", "SQLite")
    assert found.about("studies", "ok", "demo")


@pytest.mark.parametrize(
    ("env", "area", "level", "facts"),
    [
        ({"PARLEY_PORT": "seven"}, "settings", "problem", ("PARLEY_PORT", "seven")),
        ({"PARLEY_PROT": "1"}, "settings", "warning", ("PARLEY_PROT", "PARLEY_PORT")),
        ({"PARLEY_DATABASE_URL": "sqlite:////nowhere/at/all/x.db"}, "database", "problem", ("/nowhere/at/all",)),
        ({"PARLEY_DATABASE_URL": "mysql://me:pass-word@h/n"}, "settings", "problem", ("mysql",)),
        ({"PARLEY_STUDIES_DIR": "/etc/passwd/studies"}, "disk", "problem", ("/etc/passwd/studies",)),
        ({"PARLEY_HOST": "0.0.0.0"}, "public address", "warning", ("PARLEY_PUBLIC_URL", "0.0.0.0")),
    ],
)
def test_one_wrong_setting_is_found(
    examine: Examine, env: dict[str, str], area: str, level: str, facts: tuple[str, ...]
) -> None:
    found = examine(**env)
    assert found.about(area, level, *facts), found.rows
    assert "pass-word" not in found.done.stdout + found.done.stderr
    assert found.errors == (level == "problem")


def test_lines_of_the_env_file_that_have_no_effect_are_found(examine: Examine, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text('PARLEY_LOG_LEVEL=INFO\nPARLEY_DATABASE_URL="half a quotation\n')
    file.chmod(0o640)
    found = examine()
    assert found.about("settings", "problem", ".env, line 2")
    assert found.about("settings", "warning", "chmod 600")
    file.write_bytes(b"PARLEY_SECRET=M\xfcller\n")
    assert examine().about("settings", "problem")


def test_a_file_that_is_no_database_is_found(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "parley.db").write_text("no database, but a text that is long enough to be read as one" * 100)
    assert examine().about("database", "problem", "parley.db", "restore")


def test_another_secret_than_that_of_the_database_is_found(examine: Examine, tmp_path: Path) -> None:
    secret = tmp_path / "parley.secret"
    parley("preview", "demo", folder=tmp_path)
    secret.rename(tmp_path / "elsewhere")
    assert examine().about("database", "problem", "PARLEY_SECRET")
    assert not secret.exists(), "none is made in its place"


@POSTGRES_BY_NIGHT
def test_a_database_of_either_kind_is_read_and_written(examine: Examine, database_url: str) -> None:
    """And nothing is left of that."""
    database = open_database(database_url)
    found = examine(PARLEY_DATABASE_URL=database_url, PARLEY_SECRET=SECRET)
    product = "SQLite" if database.dialect.name == "sqlite" else "PostgreSQL"
    assert found.about("database", "ok", product, "can be read and written")
    assert found.errors == 0
    assert "parley_probe" not in inspect(database).get_table_names()
    if product == "PostgreSQL":
        assert examine(PARLEY_DATABASE_URL=database_url).about("database", "problem", "PARLEY_SECRET")
    let_go(database)


def refusing(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let nothing be made in these folders, as those of another user's."""
    make = tempfile.TemporaryFile

    def refuse(dir: Path) -> Any:
        if Path(dir) in folders:
            raise OSError(errno.EACCES, "Permission denied")
        return make(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)


def test_a_draft_that_cannot_be_written_is_found(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "other"):
        Drafts(tmp_path / "studies").create(name, "demo")
    refusing(monkeypatch, tmp_path / "studies" / "mine")
    found = examine()
    assert found.about("disk", "problem", str(tmp_path / "studies" / "mine"))
    assert found.errors == 1


def test_a_model_server_is_asked_for_its_models_and_for_nothing_else(
    examine: Examine, tmp_path: Path, listing: Listing
) -> None:
    found = examine(study(tmp_path), **lab(listing))
    assert found.errors == 0
    assert found.about("model servers", "ok", "lab", "accepts the key")
    assert listing.asked == ["GET /v1/models"]


def test_a_key_that_is_refused_is_found_and_not_shown(examine: Examine, listing: Listing) -> None:
    found = examine(**lab(listing, "sk-another-key-entirely"))
    assert found.about("model servers", "problem", "lab", "401")
    assert "sk-another-key" not in found.done.stdout


def test_a_server_of_anthropics_kind_is_asked_in_its_way(examine: Examine, listing: Listing, tmp_path: Path) -> None:
    listing.key_header = "x-api-key"
    own = {"PARLEY_ANTHROPIC_BASE_URL": listing.url.removesuffix("/v1"), "PARLEY_ANTHROPIC_API_KEY": KEY}
    assert examine(**own).about("model servers", "ok", "anthropic", "accepts the key")
    listing.asked.clear()
    examine(study(tmp_path, backend="anthropic"), **lab(listing))
    assert listing.asked == ["GET /v1/models"]


@pytest.mark.parametrize(("status", "level"), [(404, "warning"), (405, "warning"), (500, "problem"), (402, "problem")])
def test_a_server_without_a_list_is_only_a_warning(examine: Examine, listing: Listing, status: int, level: str) -> None:
    listing.status = status
    assert examine(**lab(listing)).about("model servers", level, "lab", "parley models")


def test_a_server_that_cannot_be_reached_is_found(examine: Examine) -> None:
    servers = json.dumps({"lab": {"url": "http://127.0.0.1:9/v1"}})
    assert examine(PARLEY_MODEL_SERVERS=servers).about("model servers", "problem", "lab", "127.0.0.1:9")


def test_a_study_that_names_a_server_which_is_not_set_is_an_error_here_and_of_check(
    examine: Examine, tmp_path: Path, listing: Listing
) -> None:
    file = study(tmp_path, server="labb")
    assert examine(file, **lab(listing)).about("studies", "problem", "'labb'", "lab")
    for words in ((), ("--json",)):
        done = parley("check", file, "--bots", "1", *words, folder=tmp_path, **lab(listing))
        assert (done.returncode, "models.only.server" in done.stdout + done.stderr) == (2, True)
    parley("publish", file, folder=tmp_path)
    assert examine(**lab(listing)).about("studies", "problem", "mine", "'labb'"), "published ones are looked at too"
    assert parley("check", study(tmp_path), "--bots", "1", folder=tmp_path, **lab(listing)).returncode == 0


def test_a_server_that_an_owner_has_saved_is_known_to_check_and_asked(
    examine: Examine, tmp_path: Path, listing: Listing
) -> None:
    env = {"PARLEY_SECRET": SECRET}
    parley("publish", "demo", folder=tmp_path)
    database = open_database(f"sqlite:///{tmp_path}/parley.db")
    save_server(database, SECRET, SavedServer("lab", "other", listing.url, "ada", 1, b""), KEY, lambda: 1)
    let_go(database)
    assert parley("check", study(tmp_path), "--bots", "0", folder=tmp_path, **env).returncode == 0
    assert examine("mine.yaml", **env).about("model servers", "ok", "lab", "accepts the key")


def test_a_study_with_errors_is_found(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("study: x\ntitle: t\nflow:\n  - step: consnt\n")
    assert examine("bad.yaml").about("studies", "problem", "consnt", "parley check bad.yaml")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving_aside(settings_for(folder), short(folder)) as served:
        yield served


def test_the_public_address_is_asked_as_a_browser_does(examine: Examine, running: Served) -> None:
    port = running.url.rpartition(":")[2]
    found = examine(PARLEY_PUBLIC_URL=running.url, PARLEY_TRUSTED_PROXIES="127.0.0.1", PARLEY_PORT=port)
    assert found.errors == 0
    assert found.about("public address", "ok", running.url, "Host")


class Before(HttpFake):
    """A proxy that passes a request on without the Host that it came with."""

    def __init__(self, behind: str) -> None:
        super().__init__()
        self.behind = behind

    def answer(self, request: Request) -> Answer:
        headers = {name: request.headers[name] for name in ("origin", "content-type")}
        url = f"{self.behind}{request.path}"
        answer = httpx2.post(url, content=request.body, headers=headers, trust_env=False, timeout=60)
        return Answer(answer.status_code, answer.content, {"content-type": answer.headers["content-type"]})


def test_a_proxy_that_does_not_pass_the_host_is_found(examine: Examine, running: Served) -> None:
    with serve(Before(running.url)) as proxy:
        assert examine(PARLEY_PUBLIC_URL=proxy.url).about(
            "public address", "problem", proxy.url, "proxy_set_header Host"
        )


def test_the_mail_server_is_asked_for_a_connection_and_sent_nothing(examine: Examine) -> None:
    with mail_server() as server:
        known = {"PARLEY_MAIL_HOST": "127.0.0.1", "PARLEY_MAIL_FROM": "lab@example.org", "PARLEY_MAIL_SECURITY": "none"}
        known["PARLEY_MAIL_PORT"] = str(server.port)
        assert examine(**known).about("reminders", "ok", "127.0.0.1")
        server.answers["HELLO"] = "554 no"
        assert examine(**known).about("reminders", "problem", "127.0.0.1", "smtp_554")
    assert (server.connections, server.taken) == (2, [])


def test_channels_of_reminders_that_have_no_settings_are_found(examine: Examine, tmp_path: Path) -> None:
    file = studies.write(tmp_path, reminders.FILE)
    assert parley("publish", str(file), folder=tmp_path).returncode == 0
    found = examine()
    for setting in ("PARLEY_MAIL_HOST", "PARLEY_REMINDER_WEBHOOK_URL", "PARLEY_PROLIFIC_TOKEN"):
        assert found.about("reminders", "problem", setting)
