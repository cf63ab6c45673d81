"""How this deployment of Parley runs; the only reader of the environment.

Deployment lives here, science in the hashed study file: nothing here may change what a participant is asked.
Each field is the variable `PARLEY_<NAME>`, in the environment or in a file `.env`; the environment wins.
"""

import os
from collections.abc import Iterable
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, NoDecode, SettingsConfigDict

from app.config.model_servers import Key, Server, ServerAddress, SiteAddress, read_servers
from app.errors import SettingsError
from problems.errors import did_you_mean
from storage.db.addresses import without_password

PREFIX = "PARLEY_"
ENV_FILE = ".env"
SECRET_LENGTH = 32
MASK = "********"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _level(value: str) -> str:
    if value.upper() not in LEVELS:
        raise ValueError(f"allowed: {', '.join(LEVELS)}.{did_you_mean(value.upper(), LEVELS)}")
    return value.upper()


def _addresses(value: str) -> str:
    """What uvicorn would take for a name and never meet is refused."""
    for part in filter(None, (part.strip() for part in value.split(","))):
        try:
            ip_network(part)
        except ValueError as error:
            raise ValueError(f"{error}. Addresses such as 127.0.0.1, or networks such as 10.0.0.0/8") from None
    return value


def _key_set(value: str) -> str:
    """Keys that came over http from elsewhere would be anybody's."""
    if "://" in value and not value.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must begin with https://, or be the path of a file")
    return value


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
LogLevel = Annotated[str, AfterValidator(_level)]


class Settings(BaseSettings):
    """The settings of one deployment. Make it with `load()`, which explains what is wrong."""

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
        description="Where everything is stored: an SQLAlchemy URL of SQLite or PostgreSQL.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on; 0.0.0.0 opens it to the network.")
    port: int = Field(7860, ge=0, le=65_535, description="The port to listen on; 0 takes any free one.")
    public_url: SiteAddress | None = Field(
        None,
        description="The address that participants see, behind a proxy; https makes cookies Secure.",
    )
    console_port: int = Field(
        7861, ge=0, le=65_535, description="The port on which the researchers' console listens, on the same address."
    )
    console_url: SiteAddress | None = Field(
        None,
        description="The address at which researchers open the console, behind a proxy; https makes its cookie Secure.",
    )
    trusted_proxies: Annotated[str, AfterValidator(_addresses)] = Field(
        "",
        description="Addresses of reverse proxies, or their networks, whose X-Forwarded-For is believed, with commas; "
        "none unless set.",
    )
    secret: SecretStr | None = Field(
        None,
        min_length=SECRET_LENGTH,
        description="The key that signs cookies, 32 characters or more; unset, one is made.",
    )
    prolific_workspaces: str = Field(
        "",
        pattern=r"^[\w-]*(\s*,\s*[\w-]+)*$",
        description="The ids of your workspaces at Prolific, with commas: by the tokens with which Prolific signs the "
        "links of their studies people are known to be who they say. None are believed unless set.",
    )
    prolific_keys: Annotated[str, AfterValidator(_key_set)] = Field(
        "https://api.prolific.com/.well-known/study/jwks.json",
        description="Where Prolific's public keys are: an https address, or a file (JWKS).",
    )
    openai_api_key: Key | None = Field(None, description="The key of the OpenAI-compatible model server.")
    openai_base_url: ServerAddress | None = Field(
        None, description="The address of an OpenAI-compatible model server; unset, OpenAI's own."
    )
    anthropic_api_key: Key | None = Field(None, description="The key for Anthropic's API.")
    anthropic_base_url: ServerAddress | None = Field(
        None, description="The address of a server that speaks Anthropic's API; unset, Anthropic's own."
    )
    servers: Annotated[dict[str, Server], NoDecode, BeforeValidator(read_servers)] = Field(
        {},
        description="More model servers, which a study's models name by `server`: JSON of names, each with "
        "`url`, and if need be `key`, `headers`, `query`, `requests_per_minute` and `tokens_per_minute`.",
    )
    replay_dir: Path | None = Field(
        None, description="The folder of the recorded conversations with which the backend `replay` answers."
    )
    studies_dir: Path = Field(
        Path("studies"), description="The folder in which the console keeps the studies that are being written."
    )
    connect_timeout_s: Seconds = Field(5, description="Seconds to wait for a connection to a model server.")
    first_token_timeout_s: Seconds = Field(
        20,
        description="Seconds to wait for the first word of a reply; more for models that think in silence.",
    )
    token_gap_timeout_s: Seconds = Field(20, description="Seconds that a reply may pause between two pieces.")
    reply_timeout_s: Seconds = Field(90, description="Seconds that a whole reply may take.")
    max_reply_chars: int = Field(
        20_000, ge=1, description="Characters after which a reply counts as runaway and fails."
    )
    model_tries: int = Field(3, ge=1, le=10, description="How often a model is asked for one reply before it failed.")
    retry_wait_s: Seconds = Field(
        1, description="Seconds before a busy model server is asked again; twice as long each time."
    )
    longest_retry_wait_s: Seconds = Field(
        20, description="The longest such pause; a server that asks for a longer one is not asked again."
    )
    breaker_failures: int = Field(
        5,
        ge=1,
        description="Failures of a model's server in a row (no connection, timeout, 429, 5xx, 401 to 404; of one "
        "session in a row one counts) after which the model is left alone for a while, for everybody.",
    )
    breaker_pause_s: Seconds = Field(30, description="Seconds for which it is left alone.")
    messages_per_minute: int = Field(
        20, ge=1, description="Messages to models that one participant may send in any minute, retries included."
    )
    requests_per_second: float = Field(
        5.0,
        gt=0,
        allow_inf_nan=False,
        description="Requests a second that one participant may make, on average.",
    )
    request_burst: int = Field(30, ge=1, description="Requests that one participant may make at once.")
    people_per_address: int = Field(
        10,
        ge=1,
        description="How many times as much as one participant all of one address (of IPv6, one /64 network) together "
        "may ask, and likewise those who are not known there yet: a whole class may sit behind it.",
    )
    sessions_per_address: int = Field(
        30,
        ge=1,
        description="How many sessions may be begun in an hour from one address (of IPv6, one /64 network).",
    )
    log_level: LogLevel = Field("INFO", description="How much is logged: DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    log_format: Literal["text", "json"] = Field("text", description="How lines of the log look: text, or json.")
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65_535,
        description="The port on which `parley serve` tells Prometheus its metrics; unset, there are none.",
    )
    metrics_host: str = Field(
        "127.0.0.1", description="The address on which it does; whoever can reach it reads them, so never a public one."
    )

    @property
    def address(self) -> str:
        """Where participants find Parley."""
        return (self.public_url or _local(self.host, self.port)).rstrip("/")

    @property
    def console_address(self) -> str:
        """Where researchers find the console."""
        return (self.console_url or _local(self.host, self.console_port)).rstrip("/")

    def server(self, name: str) -> Server:
        """The model server that a study calls `name`; raises SettingsError if there is none."""
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise SettingsError(
                f"No model server is called {name!r}: {env_name('servers')} has {known}."
                f"{did_you_mean(name, self.servers)} Add it, as in "
                f"""{env_name("servers")}='{{"{name}": {{"url": "https://..."}}}}'."""
            )
        return self.servers[name]


def reachable(host: str) -> str:
    """An address at which this machine reaches what listens on a host."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (compared, not bound)


def _local(host: str, port: int) -> str:
    found = reachable(host)
    return f"http://[{found}]:{port}" if ":" in found else f"http://{found}:{port}"


def load(**given: Any) -> Settings:
    """Read the settings, of which those `given` here count most, or raise a SettingsError that names every variable
    that is wrong."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError("These settings cannot be used:", *map(_fault, error.errors())) from None


def env_name(field: str) -> str:
    """Give the name of the variable that sets `field`."""
    return f"{PREFIX}{field.upper()}"


def listing(settings: Settings) -> list[tuple[str, str, str, str]]:
    """Give (variable, value, default, description) of every setting, with secrets masked."""
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        default = value if value == field.default else field.default  # 5.0 is 5
        rows.append((env_name(name), _shown(value), _shown(default), field.description or ""))
    return rows


def names_in_use(env_file: str = ENV_FILE) -> list[str]:
    """Give the names of all variables that the environment and the .env file set, for `unknown`."""
    in_file = DotEnvSettingsSource(Settings, env_file=env_file).env_vars
    return sorted({*os.environ, *(name.upper() for name in in_file)})


def unknown(environ_names: Iterable[str]) -> list[str]:
    """Say of each PARLEY_* name that sets nothing that it does, and which one was probably meant."""
    known = [env_name(field) for field in Settings.model_fields]
    strays = sorted(name for name in environ_names if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [f"{name} is not a setting.{_meant(name)} `parley settings` lists them all." for name in strays]


def _meant(name: str) -> str:
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
            return without_password(str(value))


def _is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in str(field.annotation) or field.annotation == dict[str, Server]


def _fault(error: ErrorDetails) -> str:
    field, *inside = (str(part) for part in error["loc"])
    said = error["msg"].removeprefix("Value error, ")
    if field == "secret":
        said = f"it has fewer than {SECRET_LENGTH} characters"
    if error["type"] == "extra_forbidden":
        said = f"no such key; allowed: {', '.join(Server.model_fields)}.{did_you_mean(inside[-1], Server.model_fields)}"
    if error["type"] in ("model_type", "dict_type"):
        said = "must be an object, as in " + ('{"url": "https://..."}' if inside else '{"lab": {"url": "https://..."}}')
    secret = _is_secret(Settings.model_fields[field]) or "@" in str(error["input"])
    value = "(its value is secret)" if secret else repr(error["input"])
    place = f", {'.'.join(inside)}" if inside else ""
    advice = (
        f" `python -c 'import secrets; print(secrets.token_urlsafe({SECRET_LENGTH}))'` makes one."
        if field == "secret"
        else ""
    )
    return f"{env_name(field)}={value}{place}: {said.rstrip('.')}{'' if said.endswith('?') else '.'}{advice}"
