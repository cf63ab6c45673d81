"""The command that tests the models of a study: whether they reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.text import Text

from app.backends.model_ref import ModelRef, parse_model_ref
from app.calls.caller import Attempt
from app.calls.model_pool import ModelPool
from app.cli.commands import command
from app.cli.common import AsJson, any_study, argument, finish, settings_in_use
from app.cli.printing import out, show
from app.clock import SystemClock
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.errors import BackendError, SettingsError
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.model_check import advice, check_model, settings_of
from experiments.study.study import Study
from storage.db.engine import open_database


@command("models")
def models(
    study: Annotated[
        str,
        argument(
            "STUDY",
            "A study file, or the name of a study that comes with Parley or is in the database. Without a study: the "
            "first model, as BACKEND:NAME[@SERVER].",
        ),
    ],
    model: Annotated[
        list[str] | None,
        argument(
            "MODEL",
            "Models of the study by name, or any as BACKEND:NAME[@SERVER]. Default: all of the study.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send one short message to each model, as a study does, and print the reply while it comes.

    Then times, version, tokens and cost; or the error, with what to do. Of the reply only how its reasoning is marked
    is kept, in the database. The exit code is 2 if a model failed.
    """
    settings = settings_in_use()
    settings = with_saved_servers(settings, open_database(settings.database_url))
    found, refs = _study_and_models(settings, study, model or [])
    currency = found.file.currency if found else None
    rows = finish(_test(settings, refs, currency, shown=not as_json))
    if as_json:
        show(rows, as_json)
    if any(row["error"] for row in rows):
        raise typer.Exit(2)


def _study_and_models(settings: Settings, first: str, more: Sequence[str]) -> tuple[Study | None, list[ModelRef]]:
    if ":" in first and not first.endswith((".yaml", ".yml")):
        return None, [parse_model_ref(None, name) for name in dict.fromkeys((first, *more))]
    study = any_study(first, settings)
    return study, [parse_model_ref(study, name) for name in dict.fromkeys(more or study.file.models)]


async def _test(
    settings: Settings, refs: Sequence[ModelRef], currency: str | None, *, shown: bool
) -> list[Mapping[str, Any]]:
    clock = SystemClock()
    pool = ModelPool(settings, clock, asyncio.sleep)
    rows = []
    try:
        for ref in refs:
            with suppress(SettingsError, BackendError):  # the call reports it
                await asyncio.to_thread(pool.prepare, ref.model, ref.label)
            reply = ReplyBuffer()
            follower = asyncio.create_task(_print_reply(ref, reply)) if shown else None
            rows.append(_row(ref, await check_model(pool, ref, settings, clock, reply), currency, settings))
            if follower is not None:
                await follower
                show(
                    {name: value for name, value in rows[-1].items() if value and name not in ("model", "reply")}, False
                )
    finally:
        await pool.close()
    return rows


async def _print_reply(ref: ModelRef, reply: ReplyBuffer) -> None:
    out.print(Text(f"{ref.label}: ", "bold"), end="")
    async for text, _ in reply.follow(0):
        out.print(Text(text.replace("\n", " ")), end="", soft_wrap=True)
    out.print("" if reply.text else "no reply")


def _row(ref: ModelRef, attempt: Attempt, currency: str | None, settings: Settings) -> Mapping[str, Any]:
    """A test as a row; times in seconds, null if unknown."""
    result, end, error = attempt.result, attempt.result.end, attempt.result.error
    first_us = result.first_token_us
    return {
        "model": ref.label,
        "backend": ref.model.backend,
        "server": ref.model.server,
        "settings": settings_of(ref.model, settings),
        "reply": None if error else result.text,
        "version": end.model,
        "first_token_s": None if first_us is None else first_us / 1e6,
        "total_s": result.total_us / 1e6,
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "cost": attempt.cost,
        "currency": currency if ref.model.price else None,
        "reason": error.reason if error else None,
        "error": str(error) if error else None,
        "advice": advice(result),
    }
