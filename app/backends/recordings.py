"""Recorded conversations, and the choice of the next reply from them, for the backend `replay`.

A file is ChatBench's conversations.json, or JSONL with a conversation in each line: `{"messages": [{"role": "user",
"content": "..."}, ...]}`. Pure, but for `read`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from app.backends.base import PromptMessage, Role
from app.errors import SettingsError
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
    """Read a file of conversations; raises SettingsError."""
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
