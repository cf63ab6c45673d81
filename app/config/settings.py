"""The settings of a deployment; the only reader of the environment.

Deployment lives here, science in the hashed study file: nothing here may change what a participant is asked.
Each field is the variable `PARLEY_<NAME>`, in the environment or in a file `.env`; the environment wins.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from pydantic import PrivateAttr, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from app.config.model_servers import Server
from app.config.setting_groups import (
    SECRET_LENGTH,
    DepositSettings,
    LocalModelSettings,
    LogSettings,
    ModelServerSettings,
    ProlificSettings,
    RateLimitSettings,
    ReminderSettings,
    ReplySettings,
    SiteSettings,
)
from app.errors import SettingsError
from experiments.errors import plain_message
from problems.errors import did_you_mean
from problems.text import NotText, checked, decoded, encoding_of
from storage.db.database_url import redact_password

PREFIX = "PARLEY_"
ENV_FILE = ".env"
COMMENT = re.compile(r"\s#")
MASK = "********"


class _Environment(EnvSettingsSource):
    """Docker passes the values of an env file as they are written: they are read as in a file `.env`, without blanks
    around them, then one pair of quotes. Raises SettingsError for a comment, which Docker and systemd pass as well."""

    def __call__(self) -> dict[str, Any]:
        """The values that are set, by field."""
        values = {name: value.strip() for name, value in super().__call__().items()}
        bare = {name: _unquoted(value) for name, value in values.items()}
        odd = [
            f"{env_name(name)} has a comment (`#`) behind its value, which Docker and systemd pass as a part of it. "
            "Put the comment on a line of its own; or, if it is none, quotes around the whole value"
            for name, value in values.items()
            if value == bare[name] and COMMENT.search(value)
        ]
        if odd:
            raise SettingsError("Invalid settings:", *odd)
        return {name: value for name, value in bare.items() if value}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


class ServerLookup(Protocol):
    def names(self) -> tuple[str, ...]:
        """The names of all."""

    def find(self, name: str) -> Server | None:
        """The server of this name; None if there is none. Raises SettingsError if it cannot be used."""

    def reasoning(self, url: str, model: str) -> bool | None:
        """True if a model's replies begin with reasoning without an opening mark; None where it is not known."""

    def save_reasoning(self, url: str, model: str, *, unopened: bool) -> None: ...


# pydantic takes the fields of the last base first
class Settings(
    DepositSettings,
    ReminderSettings,
    LogSettings,
    RateLimitSettings,
    ReplySettings,
    LocalModelSettings,
    ModelServerSettings,
    ProlificSettings,
    SiteSettings,
    BaseSettings,
):
    """The settings of one deployment. Create it with `load()`, which explains errors."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=ENV_FILE,
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        dotenv_filtering="only_existing",
        extra="forbid",
        frozen=True,
    )

    _more: ServerLookup | None = PrivateAttr(None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The order of precedence: arguments, the environment, the file `.env`."""
        return init_settings, _Environment(settings_cls), dotenv_settings

    @property
    def address(self) -> str:
        """The address of the participants' pages."""
        return (self.public_url or _local(self.host, self.port)).rstrip("/")

    @property
    def console_address(self) -> str:
        return (self.console_url or _local(self.host, self.console_port)).rstrip("/")

    @property
    def sub_path(self) -> str:
        """The path below which participants find Parley, such as `/study`; empty at the root of a host name."""
        return urlsplit(self.address).path

    @property
    def console_sub_path(self) -> str:
        """The path below which researchers find the console, such as `/console`; empty at the root of a host name."""
        return urlsplit(self.console_address).path

    def with_lookup(self, lookup: ServerLookup) -> Self:
        """A copy with more model servers; those of PARLEY_MODEL_SERVERS win over others of their name."""
        copy = self.model_copy()
        copy.look_up_in(lookup)
        return copy

    def look_up_in(self, lookup: ServerLookup) -> None:
        """Add a source of model servers to a copy of the settings; see `with_lookup`."""
        self._more = lookup

    @property
    def server_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.model_servers, *(self._more.names() if self._more else ())]))

    def is_saved(self, name: str) -> bool:
        return name not in self.model_servers and self._more is not None and name in self._more.names()

    def find_server(self, name: str) -> Server | None:
        """The model server that a study calls `name`; None if there is none."""
        if name in self.model_servers or self._more is None:
            return self.model_servers.get(name)
        return self._more.find(name)

    def reasoning(self, url: str, model: str) -> bool | None:
        """True if a model's replies at an address begin with reasoning without an opening mark; None if untested."""
        return self._more.reasoning(url, model) if self._more else None

    def save_reasoning(self, url: str, model: str, *, unopened: bool) -> None:
        if self._more is not None:
            self._more.save_reasoning(url, model, unopened=unopened)

    def server(self, name: str) -> Server:
        """The model server that a study calls `name`; raises SettingsError if there is none."""
        found = self.find_server(name)
        if found is None:
            names = self.server_names
            raise SettingsError(
                f"There is no model server {name!r}: {env_name('model_servers')} and the console have "
                f"{', '.join(names) or 'none'}.{did_you_mean(name, names)} An owner can enter it in the "
                f"""console, under Model servers; or set {env_name("model_servers")}='{{"{name}": """
                """{"url": "https://..."}}'."""
            )
        return found

    @field_validator("*", mode="before")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return checked(value).rstrip("\n")
        except NotText as error:
            byte = next((char for char in value if "\udc80" <= char <= "\udcff"), "")  # as os.environ decodes it
            raise ValueError(f"has the byte 0x{ord(byte) - 0xDC00:02x}, not UTF-8" if byte else error.problem) from None


def reachable_url(host: str) -> str:
    """An address at which this machine reaches what listens on a host."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (compared, not bound)


def _local(host: str, port: int) -> str:
    found = reachable_url(host)
    return f"http://[{found}]:{port}" if ":" in found else f"http://{found}:{port}"


def load(**given: Any) -> Settings:
    """Read the settings, overridden by those `given`; raises a SettingsError that names every invalid variable."""
    _check_env_file(Path(ENV_FILE))
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError("Invalid settings:", *map(_fault, error.errors())) from None


def _check_env_file(file: Path) -> None:
    """Raise SettingsError for a file that is no text in UTF-8; `python-dotenv` reads nothing else."""
    if not file.is_file():
        return
    try:
        content = file.read_bytes()
        checked(decoded(content, str(file)), str(file))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({error.strerror}). Check its permissions.") from None
    except NotText as error:
        raise SettingsError(str(error)) from None
    if (encoding := encoding_of(content)) != "utf-8-sig":
        raise SettingsError(f"{file}: is in {encoding.upper()}, and must be in UTF-8. Save it in that encoding.")


def env_name(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def settings_table(settings: Settings) -> list[tuple[str, str, str, str]]:
    """Give (variable, value, default, description) of every setting, with secrets masked."""
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        default = value if value == field.default else field.default  # 5.0 is 5
        rows.append((env_name(name), _shown(value), _shown(default), field.description or ""))
    return rows


def names_in_use(env_file: str = ENV_FILE) -> list[str]:
    """The variables that the environment and the .env file set; raises SettingsError for a file that is no text."""
    _check_env_file(Path(env_file))
    in_file = DotEnvSettingsSource(Settings, env_file=env_file).env_vars
    return sorted({*os.environ, *(name.upper() for name in in_file)})


def unknown(environ_names: Iterable[str]) -> list[str]:
    """A warning for each PARLEY_* variable that is not a setting, with the one that was probably meant."""
    known = [env_name(field) for field in Settings.model_fields]
    strays = sorted(name for name in environ_names if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [
        f"{name} is not a setting.{_similar_setting(name)} `parley show settings` lists all settings."
        for name in strays
    ]


def _similar_setting(name: str) -> str:
    """The setting that a misspelled name most likely means, by the part after the common prefix."""
    fields = {field.upper(): env_name(field) for field in Settings.model_fields}
    close = did_you_mean(name.upper().removeprefix(PREFIX), fields)
    return next((close.replace(repr(field), repr(full)) for field, full in fields.items() if repr(field) in close), "")


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case SecretStr():
            return MASK
        case dict():
            return "; ".join(f"{name}: {_shown(part)}" for name, part in value.items())
        case _:
            return redact_password(str(value)) if "://" in str(value) else str(value)


def _redacted(given: object) -> object:
    return redact_password(given) if isinstance(given, str) else given


def _is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in str(field.annotation) or field.annotation == dict[str, Server]


def _fault(error: ErrorDetails) -> str:
    field, *inside = (str(part) for part in error["loc"])
    said = plain_message(error)
    if field == "secret":
        said = f"needs at least {SECRET_LENGTH} characters"
    if error["type"] == "extra_forbidden":
        said = f"unknown key; allowed: {', '.join(Server.model_fields)}.{did_you_mean(inside[-1], Server.model_fields)}"
    if error["type"] in ("model_type", "dict_type"):
        said = "must be an object, as in " + ('{"url": "https://..."}' if inside else '{"lab": {"url": "https://..."}}')
    secret = _is_secret(Settings.model_fields[field]) or "@" in str(error["input"])
    value = "(its value is secret)" if secret else repr(_redacted(error["input"]))
    place = f", {'.'.join(inside)}" if inside else ""
    advice = (
        f" `python -c 'import secrets; print(secrets.token_urlsafe({SECRET_LENGTH}))'` creates one."
        if field == "secret"
        else ""
    )
    return f"{env_name(field)}={value}{place}: {said.rstrip('.')}{'' if said.endswith('?') else '.'}{advice}"
