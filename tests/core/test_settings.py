"""Settings: what the environment says is read, checked, listed and explained."""

import pytest
from pydantic import SecretStr

from app.config import settings
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import SettingsError

SECRET = "a-signing-key-of-at-least-32-characters"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch, tmp_path):
    """No PARLEY_* variable and no .env of the machine that runs the tests."""
    for name in settings.names_in_use():
        if name.startswith(settings.PREFIX):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_environment_wins_over_the_env_file(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("PARLEY_PORT=1\nPARLEY_HOST=0.0.0.0\nOTHER=thing\nPARLEY_TYPO=1\n")
    monkeypatch.setenv("PARLEY_PORT", "2")
    loaded = settings.load()
    assert (loaded.host, loaded.port) == ("0.0.0.0", 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PARLEY_PORT=1\nPARLEY_SMTP_USER=Caf\xe9\n", r"\.env: line 2, column 21: the byte 0xe9 .* 'é'"),
        ("PARLEY_PORT=1\n".encode("utf-16"), "UTF-16"),
        (b"PARLEY_PORT=1\nPARLEY_HOST=0.0\0.0.0\n", r"line 2, column 16: U\+0000"),
    ],
)
def test_an_env_file_that_is_no_text_is_told_with_its_line(tmp_path, content, said):
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        settings.load()


@pytest.mark.parametrize("name", ["database_url", "secret", "host"])
def test_a_comment_behind_a_value_is_refused_and_a_secret_is_not_shown(monkeypatch, name):
    value = f"{'x' * 40} # where it is"
    monkeypatch.setenv(f"PARLEY_{name.upper()}", value)
    with pytest.raises(SettingsError, match=f"PARLEY_{name.upper()} has a comment") as refused:
        settings.load()
    assert "xxx" not in str(refused.value)
    monkeypatch.setenv(f"PARLEY_{name.upper()}", f"'{value}'")
    found = getattr(settings.load(), name)
    assert value == (found.get_secret_value() if isinstance(found, SecretStr) else found)


def test_all_wrong_variables_are_named_at_once_and_secrets_are_not_shown(monkeypatch):
    monkeypatch.setenv("PARLEY_PORT", "99999")
    monkeypatch.setenv("PARLEY_REPLY_TIMEOUT_S", "nan")
    monkeypatch.setenv("PARLEY_OPENAI_BASE_URL", "localhost:8000")
    monkeypatch.setenv("PARLEY_SECRET", "hunter2")
    with pytest.raises(SettingsError) as refused:
        settings.load()
    message = str(refused.value)
    for said in ("PARLEY_PORT='99999'", "PARLEY_REPLY_TIMEOUT_S", "PARLEY_OPENAI_BASE_URL", "http://", "PARLEY_SECRET"):
        assert said in message
    assert "hunter2" not in message
    assert refused.value.__context__ is None or refused.value.__suppress_context__


SECRETIVE = {
    "PARLEY_OPENAI_BASE_URL": (
        "https://h/v1?key=hunter2-key", "https://h/v1?hunter2-key", "https://h/v1#hunter2-key",
        "h:80?token=hunter2-key", "https://me:hunter2-key@h/v1", "https://h/me:hunter2-key@x/v1",
        "https://me:hunter2-key", "ftp://h?api-key=hunter2-key",
    ),
    "PARLEY_MODEL_SERVERS": (
        '{"lab": {"url": "http://gpu", "key": "hunter2"}', '{"lab": "hunter2"}',
        '{"lab": {"url": "http://me:hunter2@gpu"}}', '{"lab": {"url": "http://a"}, "lab": {"url": "http://b"}}',
    ),
    "PARLEY_OPENAI_API_KEY": ("sk-“hunter2”",),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in SECRETIVE for value in SECRETIVE[name]])
def test_a_value_that_cannot_be_used_is_refused_by_its_name_and_not_shown(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as refused:
        settings.load()
    assert "hunter2" not in str(refused.value)


def test_the_listing_has_every_field_described_and_masks_secrets():
    rows = settings.settings_table(Settings(secret=SecretStr(SECRET), openai_api_key=SecretStr("sk-live")))
    assert len(rows) == len(Settings.model_fields)
    assert all(name.startswith("PARLEY_") and description for name, _, _, description in rows)
    shown = {name: (value, default) for name, value, default, _ in rows}
    assert shown["PARLEY_OPENAI_API_KEY"] == ("********", "")
    assert shown["PARLEY_PORT"] == ("7860", "7860")
    assert "sk-live" not in str(rows)
    assert SECRET not in str(rows)


def test_unknown_variables_are_reported_with_the_one_that_was_meant(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("PARLEY_OPENAI_KEY=x\n")
    monkeypatch.setenv("PARLEY_DATABASE_URI", "x")
    monkeypatch.setenv("PARLEY_PORT", "1")
    monkeypatch.setenv("PARLEY_X", "1")
    faults = settings.unknown(settings.names_in_use())
    named = ("PARLEY_DATABASE_URI", "PARLEY_OPENAI_KEY", "PARLEY_X")
    assert [name in fault for name, fault in zip(named, faults, strict=True)] == [True] * 3
    assert "PARLEY_DATABASE_URL" in faults[0]
    assert "PARLEY_OPENAI_API_KEY" in faults[1]


SERVERS = (
    '{"lab": {"url": "http://gpu:8000/v1/"}, "azure": {"url": "https://x.example/openai/deployments/gpt", '
    '"key": "sk-live-0123456789abcdef", "headers": {"api-key": "azure-secret"}, '
    '"query": {"api-version": "2024-10-21"}}}'
)


def test_servers_are_read_and_none_of_their_secrets_is_shown(monkeypatch):
    monkeypatch.setenv("PARLEY_MODEL_SERVERS", SERVERS)
    loaded = settings.load()
    assert loaded.server("lab").url == "http://gpu:8000/v1"
    assert loaded.server("azure").headers["api-key"].get_secret_value() == "azure-secret"
    shown = {name: value for name, value, _, _ in settings.settings_table(loaded)}["PARLEY_MODEL_SERVERS"]
    assert shown == (
        "lab: http://gpu:8000/v1; "
        "azure: https://x.example/openai/deployments/gpt, key ********, headers ********, query ********"
    )
    for text in (str(settings.settings_table(loaded)), repr(loaded), loaded.model_dump_json()):
        assert not any(secret in text for secret in ("sk-live", "azure-secret", "2024-10-21"))


def test_a_key_is_tidied(monkeypatch):
    monkeypatch.setenv("PARLEY_OPENAI_API_KEY", " sk-live\n")
    assert settings.load().openai_api_key == SecretStr("sk-live")


def test_a_server_covers_its_secrets_also_where_they_were_cut():
    server = Server(
        url="http://gpu",
        key=SecretStr("sk-live-0123456789abcdef"),
        headers={"authorization": SecretStr("Basic dXNlcjpodW50ZXIy"), "x-flag": SecretStr("1")},
    )
    said = "key sk-live-0123456789abcdef, cut sk-live-01234; Basic dXNlcjpodW50ZXIy and dXNlcjpodW50ZXIy, 1"
    assert server.mask(said) == "key ***, cut ***; *** and ***, 1"
