"""Schedule the words of a reply, where a study delays or paces them: the only place that decides it.

The schedule is fixed by times in the log, so that a reply goes on after a restart as if there had been none: no word is
shown before `from_us`, and from then on `pace` characters a second, as far as they have come.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from app.clock import Clock
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.request import STOPPED, empty_reply_error
from experiments.events import Action, PendingTask

# How often words are added, at most: so many seconds' worth of characters.
TICK_S = 0.1
# A longer word is shown in parts, as are texts of scripts without blanks.
LONGEST_WORD = 40
_WORD = re.compile(r"\S*\s+")


async def paced_outcome(
    task: PendingTask,
    reply: ReplyBuffer,
    get: Callable[[], Awaitable[Action]],
    record: Callable[[Action], Awaitable[object]],
    clock: Clock,
) -> Action:
    """The outcome that `get` brings, once as much of it is shown as will be. What a model wrote is recorded before."""
    shown_us: list[int] = []
    showing = asyncio.create_task(_show(task, reply, clock, shown_us))
    try:
        outcome = await get()
        reply.complete()
        await asyncio.sleep(0)  # what may be shown by now is
        if outcome.kind == "reply":
            shown = len(reply.shown.lstrip())
            new = "source" not in outcome.data and "written" not in task.data and not reply.stopped
            if new and shown < len(outcome.data["text"]):
                await record(replace(outcome, kind="write", data={**outcome.data, "shown": shown}))
            await showing
    finally:
        showing.cancel()
    times = {"shown_first_us": shown_us[0], "shown_last_us": shown_us[-1]} if shown_us else {}
    return _as_shown(replace(outcome, data={**outcome.data, **times}), reply.shown.strip())


def _as_shown(action: Action, shown: str) -> Action:
    """An outcome with the text shown: less than it has if the participant stopped it, or the model failed."""
    data = dict(action.data)
    if action.kind == "fail":
        return replace(action, data=data | {"text": shown}) if "text" in data else action
    if shown == data["text"]:
        return action
    data = {name: value for name, value in data.items() if name not in ("text", "finish_reason", "marked")}
    if shown:
        return replace(action, data={**data, "text": shown, "finish_reason": STOPPED})
    return replace(action, kind="fail", data={**data, "reason": STOPPED, "cause": str(empty_reply_error())})


async def _show(task: PendingTask, reply: ReplyBuffer, clock: Clock, shown_us: list[int]) -> None:
    """Show a reply until all of it is shown, or the participant stops it; the times at which words appeared."""
    from_us, pace = task.data["pacing"]["from_us"], task.data["pacing"]["pace"]
    if task.data.get("stopped"):  # before a restart
        reply.show_up_to(min(round(_due(task, 0)), reply.ready))
    async with reply.stopping.heeded():
        await clock.sleep(max(0, from_us - clock.now_us()) / 1e6)
        due = _due(task, clock.now_us())
        while not (reply.whole and reply.length >= reply.ready):
            least = max(due, pace * TICK_S)
            end = min(reply.ready, reply.length + round(least) + 2 * LONGEST_WORD) if pace else reply.ready
            unshown, whole = reply.piece(reply.length, end), reply.whole or end < reply.ready
            size = _next(unshown, least, whole=whole) if pace else len(unshown)
            if not size:
                reply.arrived.clear()
                await reply.arrived.wait()
                continue
            reply.show_up_to(reply.length + size)
            shown_us.append(clock.now_us())
            seconds, due = (size - due) / pace if pace else 0.0, 0.0
            if not (reply.whole and reply.length >= reply.ready):
                await clock.sleep(max(0.0, seconds))


def _due(task: PendingTask, now_us: int) -> float:
    """Return the number of characters due on the screen after a restart, for a text that is known since."""
    from_us, pace = task.data["pacing"]["from_us"], task.data["pacing"]["pace"]
    if written := task.data.get("written"):
        return float(written["shown"] + pace * max(0, now_us - max(from_us, written["at_us"])) / 1e6)
    return float(pace * max(0, now_us - from_us) / 1e6) if "fixed" in task.data else 0.0


def _next(unshown: str, least: float, *, whole: bool) -> int:
    """Return the number of characters that come next: whole words, at least so many characters if there are."""
    ends = [match.end() for match in _WORD.finditer(unshown)] + [len(unshown)] * whole
    end = next((end for end in ends if end >= least), ends[-1] if ends else 0)
    cut = max(1, round(least))
    return cut if max(end, len(unshown) if not end else 0) > cut + LONGEST_WORD else end
