"""The settings in groups by subject; `Settings` composes them, so each field is the variable `PARLEY_<NAME>`."""

from __future__ import annotations

from decimal import Decimal
from email.utils import parseaddr
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import NoDecode

from app.config.model_servers import Key, Server, ServerAddress, SiteAddress, read_servers
from problems.errors import did_you_mean

SECRET_LENGTH = 32
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


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


def _sender(value: str) -> str:
    if value and "@" not in parseaddr(value)[1].strip("@"):
        raise ValueError("must be a mail address, such as `Memory Lab <memory-lab@example.org>`")
    return value


def _encrypted(value: str) -> str:
    """Refuse to send a token unencrypted to another machine."""
    if not value.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must start with https://, because a token is sent to it")
    return value


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
RepositoryAddress = Annotated[ServerAddress, AfterValidator(_encrypted)]
LogLevel = Annotated[str, AfterValidator(_level)]


class SettingGroup(BaseModel):
    """Nothing validates a group alone: `Settings` is built of the fields of all."""

    model_config = ConfigDict(defer_build=True)


class SiteSettings(SettingGroup):
    """The place of the data, and the address of the pages."""

    database_url: str = Field(
        "sqlite:///parley.db",
        description="The database: an SQLAlchemy URL of SQLite or PostgreSQL.",
    )
    studies_dir: Path = Field(Path("studies"), description="The folder in which the console keeps study drafts.")
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


class ProlificSettings(SettingGroup):
    """Prolific: whose links are verified, and its API."""

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
    prolific_token: Key | None = Field(
        None,
        description="An API token of Prolific. It has all rights of its account. Default: the one entered in the "
        "console, if any.",
    )
    prolific_spend_limit: Decimal | None = Field(
        None,
        gt=0,
        description="The most that may be spent at Prolific on one study, whatever its own `prolific.spend_limit` is, "
        "in the account's currency. Default: only the study's.",
    )
    prolific_url: RepositoryAddress = Field("https://api.prolific.com", description="The address of Prolific's API.")


class ModelServerSettings(SettingGroup):
    """Model servers."""

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


class LocalModelSettings(SettingGroup):
    """Models that run on this computer."""

    llama_threads: int | None = Field(
        None, ge=1, description="Models on this computer: threads of each. Default: one less than there are cores."
    )
    llama_context: int = Field(
        4096, ge=256, description="Models on this computer: the longest conversation, with its reply, in tokens."
    )
    llama_slots: int = Field(
        2, ge=1, le=64, description="Models on this computer: replies of one model at the same time; others wait."
    )


class ReplySettings(SettingGroup):
    """Limits of replies, and what follows a failure."""

    connect_timeout_s: Seconds = Field(5, description="Timeout for connecting to a model server, in seconds.")
    first_token_timeout_s: Seconds = Field(
        20,
        description="Timeout for the first token of a reply, in seconds; set more for models that reason first.",
    )
    token_gap_timeout_s: Seconds = Field(20, description="Timeout between two tokens of a reply, in seconds.")
    reply_timeout_s: Seconds = Field(90, description="Timeout for a whole reply, in seconds.")
    max_reply_chars: int = Field(
        20_000,
        ge=1,
        description="The maximum length of a reply in characters. Longer replies are cut.",
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


class RateLimitSettings(SettingGroup):
    """Limits of requests by a participant, and by an address."""

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


class LogSettings(SettingGroup):
    """Logs, metrics and alerts."""

    log_level: LogLevel = Field("INFO", description="The log level: DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    log_format: Literal["text", "json"] = Field("text", description="The format of log lines: text or json.")
    alert_webhook_url: Annotated[SecretStr, AfterValidator(_webhook)] | None = Field(
        None,
        description="Alerts: the URL to which each one is posted as JSON, such as that of an incoming webhook of Slack "
        "or Mattermost. Default: none is posted.",
    )


class ReminderSettings(SettingGroup):
    """By what reminders of waves are sent."""

    mail_host: str = Field(
        "", description="Reminders: the mail server (SMTP) by which they are sent. Default: none is sent by mail."
    )
    mail_port: int = Field(587, ge=1, le=65_535, description="Reminders: the port of the mail server.")
    mail_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="Reminders: how the connection is encrypted: starttls (port 587), tls (465) or none, for a mail "
        "server on this machine only.",
    )
    mail_user: str = Field("", description="Reminders: the user name at the mail server. Default: no login.")
    mail_password: SecretStr | None = Field(None, description="Reminders: the password at the mail server.")
    mail_from: Annotated[str, AfterValidator(_sender)] = Field(
        "", description="Reminders: the sender of mails, such as `Memory Lab <memory-lab@example.org>`."
    )
    reminders_per_minute: int = Field(30, ge=1, description="Reminders: the most that are sent in a minute.")
    reminder_webhook_url: Annotated[SecretStr, AfterValidator(_webhook)] | None = Field(
        None,
        description="Reminders: the URL to which each is posted as JSON, for studies with the channel `webhook`.",
    )
    reminder_webhook_secret: SecretStr | None = Field(
        None,
        min_length=SECRET_LENGTH,
        description="Reminders: the key of the signature of these posts, at least 32 characters.",
    )


class DepositSettings(SettingGroup):
    """Repositories for deposits of data."""

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
