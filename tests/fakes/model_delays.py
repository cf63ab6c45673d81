"""What the fake model server does to somebody's patience: it hangs, drips, or never ends."""

from tests.fakes.model_reply import Reply

HANG_S = 30.0
PIECE = 5_000


async def hang(reply: Reply) -> None:
    await reply.wait(HANG_S)


async def hang_open(reply: Reply) -> None:
    await reply.open()
    await reply.wait(HANG_S)


async def hang_midway(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.wait(HANG_S)


async def drip(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.say("x")
        await reply.wait(0.02)


async def keep_alive(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.idle()
        await reply.wait(0.02)


async def flood(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.say("blah " * 200)
        await reply.wait(0.001)


async def pieces(reply: Reply, text: str) -> None:
    await reply.open()
    for start in range(0, len(text), PIECE):
        await reply.say(text[start : start + PIECE])
    await reply.finish()


async def endless_lines(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.raw("data: x\n" * 10_000)


async def endless_event(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.raw("x" * 100_000)
