"""Reads the pictures that participants attach, in threads and a few at once: a large one takes a second and 100 MB."""

from __future__ import annotations

import asyncio

from app.session.transitions import LoadedSession
from experiments.errors import NOT_OFFERED, Refused
from experiments.study.texts import lazy
from problems.attachments import NewPicture, encoded_anew
from problems.errors import TooManyPixels, UnusablePicture

AT_ONCE = 2
NO_PICTURE = "This is no picture that can be shown. Please choose a PNG, JPEG, GIF or WebP file."
TOO_MANY_PIXELS = "This picture has too many pixels. Please choose a smaller one."
TOO_LARGE = "This file is too large: it has {size} MB, and at most {most} MB are possible."


class PictureReader:
    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)

    async def read(self, session: LoadedSession, content: bytes) -> NewPicture:
        """The picture in a file, if one can be attached to the session's next message; raises Refused."""
        chat = session.screen.panel.chat
        limits = chat.attachments if chat else None
        if limits is None or "attach" not in session.screen.actions:
            raise Refused("not_offered", NOT_OFFERED)
        if len(content) > limits.max_bytes:
            raise Refused(
                "invalid", lazy(TOO_LARGE, size=f"{len(content) / 1e6:.1f}", most=f"{limits.max_bytes / 1e6:.1f}")
            )
        try:
            async with self._free:
                return await asyncio.to_thread(encoded_anew, content, limits.max_side_px)
        except TooManyPixels:
            raise Refused("invalid", TOO_MANY_PIXELS) from None
        except UnusablePicture:
            raise Refused("invalid", NO_PICTURE) from None
