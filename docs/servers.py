"""The table of model servers in the operator's guide, made from what `parley check` says of them."""

from __future__ import annotations

import json

from app.backends.providers import BACKEND, PROVIDERS, Provider
from app.config.settings import env_name
from docs.tables import filled, table

HEAD = ("server", "`backend` and `server`", "`url`", "`key`", "`model`")


def listed(page: str) -> str:
    return filled(page, "servers", servers().rstrip())


def servers() -> str:
    own = (
        ("OpenAI", "`openai`", "(built in)", f"`{env_name('openai_api_key')}`", "`gpt-4o-2024-11-20`"),
        ("Anthropic", "`anthropic`", "(built in)", f"`{env_name('anthropic_api_key')}`", "`claude-sonnet-4-5`"),
    )
    return table(HEAD, (*own, *(_row(name, one) for name, one in PROVIDERS.items())))


def _row(name: str, provider: Provider) -> tuple[str, ...]:
    options = f", with `options: {json.dumps(dict(provider.options)).replace(chr(34), '')}`" if provider.options else ""
    return (
        provider.title,
        f"`{BACKEND}`, `{name}`",
        f"`{provider.url}`",
        "yes" if provider.needs_key else "no",
        f"`{provider.model}` ({provider.names_models}){options}",
    )
