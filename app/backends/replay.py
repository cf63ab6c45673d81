"""Answers from recorded conversations, for studies in which what the model says has to be the same for everybody.

The files are in the folder PARLEY_REPLAY_DIR. What is in one decides what people read, so its hash stands with every
reply as the version of the model, and a study can pin it. Where nothing was recorded there is no reply.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Literal

from pydantic import Field

from app.backends.base import JSON, Delta, Request, Sleep, StreamEnd, parse_options
from app.backends.recordings import Recordings, read_recording
from app.backends.registry import backend
from app.backends.typing_speed import PacedOptions, typed_out, words_of
from app.config.settings import Settings, env_name
from app.errors import BackendRejected, SettingsError


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
