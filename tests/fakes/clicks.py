"""A participant at a runtime, without HTTP: clicks on the present screen, one by one or on to the end as a bot."""

from __future__ import annotations

from typing import Any

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.session.service import SessionService
from app.session.transitions import LoadedSession


async def present(service: SessionService, stream: str) -> LoadedSession:
    """A session as it stands once every reply that was owed is there."""
    await service.settled(stream)
    found = await service.get(stream)
    assert found is not None
    return found


async def click(
    service: SessionService, session: LoadedSession, kind: str = "submit", /, **values: Any
) -> LoadedSession:
    seen = session.screen
    await service.participant(session.stream, kind, seen.path, values, seen=seen.seen)
    return await present(service, session.stream)


async def finish(
    service: SessionService,
    session: LoadedSession,
    bot: RandomBot,
    clock: VirtualClock | None = None,
    each_s: float = 0,
) -> LoadedSession:
    """Go on to the end as a bot does, with so much time before each click."""
    while not session.screen.ended:
        kind, values = bot.act(session.screen)
        if clock is not None:
            clock.advance(each_s)
        session = await click(service, session, kind, **values)
    return session
