"""How this deployment of Parley runs; the only reader of the environment.

Deployment lives here, science in the hashed study file: nothing here may change what a participant is asked.
Each field is the variable `PARLEY_<NAME>`, in the environment or in a file `.env`; the environment wins.
"""

import os
import re
from collections.abc import Iterable
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from app.config.model_servers import Key, Server, ServerAddress, SiteAddress, read_servers
from app.errors import SettingsError
from experiments.errors import plain_message
from problems.errors import did_you_mean
from problems.text import NotText, checked, decoded, encoding_of
from storage.db.database_url import redact_password

PREFIX = "PARLEY_"
ENV_FILE = ".env"
SECRET_LENGTH = 32
COMMENT = re.compile(r"\s#")
MASK = "********"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class _Environment(EnvSettingsSource):
    """The environment. Docker passes the values of an env file as they are written there, so that they are read here as
    in a file `.env`: without blanks around them, then without one pair of quotes. Raises SettingsError for a comment,
    which Docker and systemd pass as well."""

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


def _level(value: str) -> str:
    if value.upper() not in LEVELS:
        raise ValueError(f"allowed: {', '.join(LEVELS)}.{did_you_mean(value.upper(), LEVELS)}")
    return value.upper()


def _addresses(value: str) -> str:
    """Refuse what uvicorn would accept as a name that never matches."""
    for part in filter(None, (part.strip() for part in value.split(","))):
        try:
            ip_network(part)
        except ValueError as error:
            raise ValueError(f"{error}. Allowed: addresses such as 127.0.0.1, networks such as 10.0.0.0/8") from None
    return value


def _key_set(value: str) -> str:
    """Refuse keys over http, which anybody on the network could replace."""
    if "://" in value and not value.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must start with https://, or be the path of a file")
    return value


def _webhook(value: SecretStr) -> SecretStr:
    parts = urlsplit(value.get_secret_value())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must start with http:// or https://, and contain a host name")
    return value


def _encrypted(value: str) -> str:
    """Refuse to send a token unencrypted to another machine."""
    if not value.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must start with https://, because a token is sent to it")
    return value


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
RepositoryAddress = Annotated[ServerAddress, AfterValidator(_encrypted)]
LogLevel = Annotated[str, AfterValidator(_level)]


class ServerLookup(Protocol):
    """More model servers than those of the settings."""

    def names(self) -> tuple[str, ...]:
        """The names of all."""

    def find(self, name: str) -> Server | None:
        """The server of this name; None if there is none. Raises SettingsError if it cannot be used."""

    def reasoning(self, url: str, model: str) -> bool | None:
        """Whether a model's replies begin with reasoning without an opening mark; None where it is not known."""

    def save_reasoning(self, url: str, model: str, *, unopened: bool) -> None: ...


class Settings(BaseSettings):
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

    database_url: str = Field(
        "sqlite:///parley.db",
        description="The database: an SQLAlchemy URL of SQLite or PostgreSQL.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on; 0.0.0.0 opens it to the network.")
    port: int = Field(7860, ge=0, le=65_535, description="The port to listen on; 0 takes any free one.")
    public_url: SiteAddress | None = Field(
        None,
        description="The URL that participants use, if there is a reverse proxy; https makes cookies Secure. It may "
        "have a path, such as https://lab.example.org/study.",
    )
    console_port: int = Field(
        7861, ge=0, le=65_535, description="The port of the researchers' console, on the same address."
    )
    console_url: SiteAddress | None = Field(
        None,
        description="The URL of the console, if there is a reverse proxy; https makes its cookie Secure. It may have a "
        "path.",
    )
    trusted_proxies: Annotated[str, AfterValidator(_addresses)] = Field(
        "",
        description="Reverse proxies whose X-Forwarded-For header is trusted: IP addresses or networks, separated by "
        "commas. Default: none.",
    )
    secret: SecretStr | None = Field(
        None,
        min_length=SECRET_LENGTH,
        description="The key that signs cookies and seals recruiters' IDs: at least 32 characters. Default: one is "
        "created beside an SQLite database.",
    )
    prolific_workspaces: str = Field(
        "",
        pattern=r"^[\w-]*(\s*,\s*[\w-]+)*$",
        description="The IDs of your Prolific workspaces, separated by commas. Participants whose links have a token "
        "that Prolific signed for one of them are verified. Default: no token is accepted.",
    )
    prolific_jwks: Annotated[str, AfterValidator(_key_set)] = Field(
        "https://api.prolific.com/.well-known/study/jwks.json",
        description="Prolific's public keys (JWKS): an https URL, or a file.",
    )
    openai_api_key: Key | None = Field(None, description="The API key of the OpenAI-compatible model server.")
    openai_base_url: ServerAddress | None = Field(
        None, description="The base URL of an OpenAI-compatible model server. Default: OpenAI's."
    )
    anthropic_api_key: Key | None = Field(None, description="The API key for Anthropic's API.")
    anthropic_base_url: ServerAddress | None = Field(
        None, description="The base URL of a server with Anthropic's API. Default: Anthropic's."
    )
    model_servers: Annotated[dict[str, Server], NoDecode, BeforeValidator(read_servers)] = Field(
        {},
        description="More model servers, to which models in a study refer by `server`: a JSON object of names, each "
        "with `url`, and optionally `key`, `headers`, `query`, `requests_per_minute` and `tokens_per_minute`.",
    )
    llama_threads: int | None = Field(
        None, ge=1, description="Models on this computer: threads of each. Default: one less than there are cores."
    )
    llama_context: int = Field(
        4096, ge=256, description="Models on this computer: the longest conversation, with its reply, in tokens."
    )
    llama_slots: int = Field(
        2, ge=1, le=64, description="Models on this computer: replies of one model at the same time; others wait."
    )
    studies_dir: Path = Field(Path("studies"), description="The folder in which the console keeps study drafts.")
    connect_timeout_s: Seconds = Field(5, description="Timeout for connecting to a model server, in seconds.")
    first_token_timeout_s: Seconds = Field(
        20,
        description="Timeout for the first token of a reply, in seconds; set more for models that reason first.",
    )
    token_gap_timeout_s: Seconds = Field(20, description="Timeout between two tokens of a reply, in seconds.")
    reply_timeout_s: Seconds = Field(90, description="Timeout for a whole reply, in seconds.")
    max_reply_chars: int = Field(
        20_000, ge=1, description="The maximum length of a reply in characters. Longer replies fail."
    )
    model_attempts: int = Field(3, ge=1, le=10, description="Attempts to get one reply before it fails.")
    retry_wait_s: Seconds = Field(
        1, description="The pause before the second attempt, in seconds. It doubles with each further attempt."
    )
    max_retry_wait_s: Seconds = Field(
        20,
        description="The longest pause before another attempt, in seconds. If a server demands a longer one, there is "
        "no further attempt.",
    )
    breaker_failures: int = Field(
        5,
        ge=1,
        description="Circuit breaker: the number of successive failures (no connection, timeout, 429, 5xx, 401 to 404) "
        "after which no session calls the model for a while. Successive failures of one session count once.",
    )
    breaker_pause_s: Seconds = Field(30, description="Circuit breaker: the length of that pause, in seconds.")
    messages_per_minute: int = Field(
        20, ge=1, description="Rate limit of messages to models per participant and minute, retries included."
    )
    requests_per_second: float = Field(
        5.0,
        gt=0,
        allow_inf_nan=False,
        description="Rate limit of requests per participant and second, on average.",
    )
    request_burst: int = Field(
        30, ge=1, description="Rate limit: how many requests one participant may make in a burst."
    )
    address_rate_multiplier: int = Field(
        10,
        ge=1,
        description="Rate limit per IP address (IPv6: per /64; a /56 has 2, a /48 4 times as much), as a multiple of "
        "the limit per participant. It holds for all participants together, and again for unidentified requests. A "
        "class may share an address.",
    )
    sessions_per_address_per_hour: int = Field(
        30,
        ge=1,
        description="Sessions that can start per hour from one IP address (IPv6: one /64; a /56 has 2, a /48 "
        "4 times as many).",
    )
    log_level: LogLevel = Field("INFO", description="The log level: DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    log_format: Literal["text", "json"] = Field("text", description="The format of log lines: text or json.")

    alert_webhook_url: Annotated[SecretStr, AfterValidator(_webhook)] | None = Field(
        None,
        description="Alerts: the URL to which each one is posted as JSON, such as that of an incoming webhook of Slack "
        "or Mattermost. Default: none is posted.",
    )

    huggingface_token: Key | None = Field(
        None, description="Deposits: an access token of the Hugging Face Hub that may write."
    )
    huggingface_url: RepositoryAddress = Field(
        "https://huggingface.co", description="Deposits: the address of the Hub."
    )
    zenodo_token: Key | None = Field(
        None,
        description="Deposits: a personal access token of Zenodo with the scopes deposit:write and deposit:actions.",
    )
    zenodo_url: RepositoryAddress = Field(
        "https://zenodo.org",
        description="Deposits: the address of Zenodo. https://sandbox.zenodo.org is for trying it out; it needs a "
        "token of its own.",
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
        """What is given, the environment, the file `.env`, in this order."""
        return init_settings, _Environment(settings_cls), dotenv_settings

    @property
    def address(self) -> str:
        """Where participants find Parley."""
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
        """Let a copy that nobody else has yet find more model servers; see `with_lookup`."""
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
        """What the test of a model at a server's address found: whether its replies begin with reasoning without an
        opening mark. None if it was not tested."""
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
    """Give the names of all variables that the environment and the .env file set, for `unknown`.

    Raises SettingsError for a file that is no text.
    """
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
    """The setting that somebody meant, by what comes after what all of them begin with."""
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
