"""The commands about the models of a study: whether they reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from app.backends.model_ref import ModelRef, parse_model_ref
from app.calls.caller import Attempt
from app.calls.model_pool import ModelPool
from app.cli.commands import group
from app.cli.common import AsJson, finish, out, print_json, settings_in_use, with_saved
from app.clock import SystemClock
from app.config.settings import Settings
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.model_check import UNOPENED, check_model, settings_of
from app.studies.loader import load_study
from experiments.study.study import Study

models = group("models")


@models.command("test")
def send_test(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file, or the name of a study that comes with Parley. Without a study: the first model, as "
            "BACKEND:NAME[@SERVER].",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Models of the study by name, or any as BACKEND:NAME[@SERVER]. Default: all of the study.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send one short message to each model, as a study does, and print the reply while it comes.

    Then the time to the first token and of the whole reply, the version that replied, the tokens and their cost; or
    the error, with what to do. Each model is called once, and nothing is stored. The exit code is 2 if a model failed.
    Names in `{{...}}` in a system prompt are sent as they stand.
    """
    settings = with_saved(settings_in_use())[0]
    found, refs = _study_and_models(study, model or [])
    attempts = finish(_tried(settings, refs, found.file.currency if found else "", shown=not as_json))
    if as_json:
        print_json([_row(ref, attempt, found, settings) for ref, attempt in zip(refs, attempts, strict=True)])
    if any(attempt.result.error for attempt in attempts):
        raise typer.Exit(2)


def _study_and_models(first: str, more: Sequence[str]) -> tuple[Study | None, list[ModelRef]]:
    """The study, if the first word is one, and the models."""
    if ":" in first and not first.endswith((".yaml", ".yml")):
        return None, [parse_model_ref(None, name) for name in dict.fromkeys((first, *more))]
    study = load_study(first)
    return study, [parse_model_ref(study, name) for name in dict.fromkeys(more or study.file.models)]


async def _tried(settings: Settings, refs: Sequence[ModelRef], currency: str, *, shown: bool) -> list[Attempt]:
    """The attempts, one model after another."""
    clock = SystemClock()
    pool = ModelPool(settings, clock, asyncio.sleep)
    attempts = []
    try:
        for ref in refs:
            reply = ReplyBuffer()
            follower = asyncio.create_task(_print_reply(ref, reply)) if shown else None
            attempts.append(await check_model(pool, ref, settings, clock, reply))
            if follower is not None:
                await follower
                _print_result(ref, attempts[-1], currency, settings)
    finally:
        await pool.close()
    return attempts


async def _print_reply(ref: ModelRef, reply: ReplyBuffer) -> None:
    """Print a reply while it comes, on one line."""
    out.print(Text(f"{ref.label}: ", "bold"), end="")
    async for text, _ in reply.follow(0):
        out.print(Text(text.replace("\n", " ")), end="", soft_wrap=True)
    out.print("" if reply.text else "no reply")


def _print_result(ref: ModelRef, attempt: Attempt, currency: str, settings: Settings) -> None:
    result, end = attempt.result, attempt.result.end
    if (error := result.error) is not None:
        out.print(Text(f"  {error} ({error.reason})", "red"))
        if set_by := settings_of(ref.model, settings):
            out.print(Text(f"  Its address and key are set by {' and '.join(set_by)}.", "dim"))
        return
    first_us = result.total_us if result.first_token_us is None else result.first_token_us
    counts = (end.prompt_tokens, end.completion_tokens)
    tokens = "tokens not counted" if None in counts else f"{counts[0]} + {counts[1]} tokens"
    free = "cost unknown" if ref.model.price else "no price"
    cost = free if attempt.cost is None else f"{attempt.cost:.6f} {currency}"
    parts = (f"first token {first_us / 1e6:.2f} s", f"whole reply {result.total_us / 1e6:.2f} s")
    out.print(Text(f"  {', '.join((*parts, end.model or 'no version named', tokens, cost))}", "dim"))
    if result.unopened:
        out.print(Text(f"  {UNOPENED}", "yellow"))


def _row(ref: ModelRef, attempt: Attempt, study: Study | None, settings: Settings) -> Mapping[str, Any]:
    """What is known of a test; times in seconds, and null for what is not known."""
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
        "currency": study.file.currency if study and ref.model.price else None,
        "reason": error.reason if error else None,
        "error": str(error) if error else None,
        "advice": [UNOPENED] if result.unopened else [],
    }
