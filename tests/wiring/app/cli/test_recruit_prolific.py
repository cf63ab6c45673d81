import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fakes import studies
from tests.fakes.commanding import Done, parley
from tests.fakes.prolific_api import TOKEN, WORKSPACE, prolific_api
from tests.fakes.recruited import live

ADDRESS = "https://lab.example.org"


def kept(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows by their tables."""
    with closing(sqlite3.connect(f"file:{folder}/parley.db?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: database.execute(f'SELECT * FROM "{table}"').fetchall() for table in tables}


def test_nothing_is_sent_before_a_persons_word(tmp_path: Path) -> None:
    parley("publish", str(studies.recruited(tmp_path)), folder=tmp_path)
    with prolific_api() as fake:

        def run(*words: str, typed: str = "") -> Done:
            known = {"PARLEY_PROLIFIC_TOKEN": TOKEN, "PARLEY_PROLIFIC_URL": fake.url, "PARLEY_PUBLIC_URL": ADDRESS}
            done = parley("recruit", "prolific", "recruited", *words, folder=tmp_path, typed=typed, **known)
            assert TOKEN not in done.stdout + done.stderr
            return done

        stored = kept(tmp_path)
        for words in ((), ("draft", "--dry-run"), ("publish", "--dry-run", "--sum", "31.00")):
            assert run(*words).returncode == 0
        assert (fake.changes, kept(tmp_path)) == ([], stored)

        assert run("draft", typed="n\n").returncode
        assert run("publish", typed="31.00\n").returncode, "there is no draft"
        assert fake.changes == []
        assert run("draft", "--yes").returncode == 0
        assert run("publish", typed="31.00\n").returncode, "nobody could start here"
        parley("recruit", "open", "recruited", folder=tmp_path)
        assert run("publish", typed="30\n").returncode
        assert run("publish", typed="\n\nyes\n").returncode
        assert [one["status"] for one in fake.studies.values()] == ["UNPUBLISHED"]
        assert run("publish", typed="31.00\n").returncode == 0
        assert run("pause").returncode == 0
        assert [one["status"] for one in fake.studies.values()] == ["PAUSED"]


def test_without_a_token_it_is_said_where_one_is_entered(tmp_path: Path) -> None:
    parley("publish", str(studies.recruited(tmp_path)), folder=tmp_path)
    done = parley("recruit", "prolific", "recruited", folder=tmp_path)
    assert (done.returncode, "PARLEY_PROLIFIC_TOKEN" in done.stderr) == (2, True)


def test_the_webhook_is_subscribed_once(tmp_path: Path) -> None:
    with live(tmp_path) as here:
        here.fake.secret = ""
        for _ in "twice":
            at = {"PARLEY_PROLIFIC_URL": here.fake.url, "PARLEY_PROLIFIC_TOKEN": TOKEN}
            assert parley("recruit", "webhook", folder=here.folder, **at).returncode == 0
        (hook,) = here.fake.hooks.values()
        assert (hook["target_url"], hook["is_enabled"], hook["workspace_id"]) == (
            "http://127.0.0.1:7860/hook/prolific",
            True,
            WORKSPACE,
        )
        assert here.fake.secret
