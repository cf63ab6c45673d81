"""Answers from recorded conversations, for studies in which what the model says has to be the same for everybody.

The files are in the folder PARLEY_REPLAY_DIR. What is in one decides what people read, so its hash stands with every
reply as the version of the model, and a study can pin it. Where nothing was recorded there is no reply.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from app.backends.base import JSON, Delta, PromptMessage, Request, Role, Sleep, StreamEnd, parse_options
from app.backends.registry import backend
from app.backends.typing_speed import PacedOptions, typed_out, words_of
from app.config.settings import Settings, env_name
from app.errors import BackendRejected, SettingsError
from problems.text import NotText, clean, decoded

ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "You": "user",
    "Bot": "assistant",
}
Conversation = tuple[PromptMessage, ...]


@dataclass(frozen=True, slots=True)
class Recordings:
    """The conversations of a file, and a fingerprint of the file."""

    conversations: tuple[Conversation, ...]
    sha256: str

    def exact(self, said: Sequence[PromptMessage]) -> str | None:
        """The reply where somebody has said all this; first of all where the replies so far were these too."""
        asked = _texts(said, "user")
        found = [one for one in self.conversations if _texts(one, "user")[: len(asked)] == asked]
        found.sort(key=lambda one: not _begins(one, said))
        replies = (reply for one in found if (reply := _reply_to(one, len(asked))) is not None)
        return next(replies, None)

    def at(self, number: int, said: Sequence[PromptMessage]) -> str | None:
        """The reply that stands at this point of conversation `number`, whatever was said."""
        if number >= len(self.conversations):
            return None
        return _reply_to(self.conversations[number], len(_texts(said, "user")))


def read_recording(path: Path) -> Recordings:
    """Read ChatBench's conversations.json, or JSONL with a conversation in each line: `{"messages": [{"role": "user",
    "content": "..."}, ...]}`. Raises SettingsError."""
    try:
        content = path.read_bytes()
        records = list(_records(decoded(content, str(path))))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from None
    except NotText as error:
        raise SettingsError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: is neither a JSON list nor JSON Lines: {error}.") from None
    if not records:
        raise SettingsError(f"{path}: has no conversation.")
    conversations = tuple(_conversation(record, f"{path}: conversation {n}") for n, record in enumerate(records, 1))
    return Recordings(conversations, sha256(content).hexdigest())


def _records(text: str) -> Iterator[Any]:
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        # not splitlines(): that also splits at U+2028, which JSON allows inside a string
        yield from (json.loads(line) for line in text.split("\n") if line.strip())


def _conversation(record: Any, where: str) -> Conversation:
    found = (
        next((record[key] for key in ("messages", "chat_history") if key in record), None)
        if isinstance(record, dict)
        else None
    )
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"{where}: its messages are not JSON: {error}.") from None
    if not isinstance(found, list):
        raise SettingsError(f"{where} has neither `messages` nor `chat_history`.")
    return tuple(_message(message, where) for message in found)


def _message(message: Any, where: str) -> PromptMessage:
    values = message if isinstance(message, dict) else {}
    role, text = ROLES.get(str(values.get("role"))), values.get("content", values.get("text"))
    if role is None or not isinstance(text, str):
        raise SettingsError(
            f"{where}: {json.dumps(message)[:100]} is not a message; write "
            '{"role": "user", "content": "..."}, with one of the roles ' + ", ".join(ROLES) + "."
        )
    return PromptMessage(role, clean(text).strip())


def _texts(messages: Sequence[PromptMessage], role: Role) -> list[str]:
    return [message.text.strip() for message in messages if message.role == role]


def _begins(conversation: Conversation, said: Sequence[PromptMessage]) -> bool:
    replies = _texts(said, "assistant")
    return _texts(conversation, "assistant")[: len(replies)] == replies


def _reply_to(conversation: Conversation, count: int) -> str | None:
    """What follows the user's message number `count` before they say more."""
    said = 0
    for message in conversation:
        said += message.role == "user"
        if message.role == "assistant" and said == count:
            return message.text
    return None


class ReplayOptions(PacedOptions):
    conversations: str
    """The file in PARLEY_REPLAY_DIR: ChatBench's conversations.json, or JSONL of `{messages: [...]}`."""
    match: Literal["exact", "position"] = "exact"
    """Whose reply is given: of the first conversation in which the user's messages so far are the same; or of one
    `conversation`, its first reply to the first message and so on, whatever is said."""
    conversation: int = Field(0, ge=0)
    """With `match: position`: which conversation of the file, counted from 0."""
    sha256: str | None = None
    """The file's hash as `sha256sum` prints it: with it no other file is accepted, and it is part of the study."""


@backend("replay")
class Replay:
    """The recordings of one folder; a file is read once."""

    Options = ReplayOptions

    def __init__(self, settings: Settings, sleep: Sleep) -> None:
        if settings.replay_dir is None:
            raise SettingsError(
                f"The backend 'replay' needs a folder of recorded conversations. Set {env_name('replay_dir')}."
            )
        self._folder = settings.replay_dir.resolve()
        self._sleep = sleep
        self._read: dict[str, Recordings] = {}

    def prepare(self, options: Mapping[str, JSON]) -> None:
        self._recordings(parse_options(ReplayOptions, options))

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        options = parse_options(ReplayOptions, request.options)
        try:
            recordings = self._recordings(options)
        except SettingsError as error:
            raise BackendRejected(str(error), reason="no_recording") from None
        said = request.messages
        reply = recordings.exact(said) if options.match == "exact" else recordings.at(options.conversation, said)
        if reply is None:
            raise BackendRejected(_nothing(options, said[-1].text), reason="no_recording")
        words = words_of(reply)
        async with aclosing(typed_out(words, options, self._sleep)) as texts:
            async for text in texts:
                yield text
        yield StreamEnd("stop", model=f"{options.conversations}@{recordings.sha256[:12]}")

    async def close(self) -> None:
        """Nothing to let go of."""

    def _recordings(self, options: ReplayOptions) -> Recordings:
        name = options.conversations
        if name not in self._read:
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._folder):
                raise SettingsError(f"{name!r} is outside {env_name('replay_dir')}={self._folder}.")
            self._read[name] = read_recording(path)
        found = self._read[name]
        if options.sha256 not in (None, found.sha256):
            raise SettingsError(f"{name}: is not the file that the study requires: its sha256 is {found.sha256}.")
        return found


def _nothing(options: ReplayOptions, said: str) -> str:
    if options.match == "position":
        return f"{options.conversations}: conversation {options.conversation} has no reply at this point."
    return f"{options.conversations}: nobody has said this, or got no reply: {said[:100]!r}."
