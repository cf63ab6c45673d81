"""Model servers that people know by name, and how each is reached. Most speak OpenAI's protocol.

The addresses were looked up in November 2026: those of DeepSeek and Ollama in their own documentation, the others in
what third parties publish. `parley models` checks one. docs/servers.py puts them into the operator's guide.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.config.settings import env_name

BACKEND = "openai"
KEY = "..."


@dataclass(frozen=True, slots=True)
class Provider:
    """A server, or a company's servers. In the address, words in capital letters are to be replaced."""

    title: str
    url: str
    needs_key: bool
    model: str
    names_models: str
    options: Mapping[str, object] = field(default_factory=dict)

    def setting(self, name: str) -> str:
        server = {"url": self.url} | ({"key": KEY} if self.needs_key else {})
        return f"{env_name('model_servers')}='{json.dumps({name: server})}'"


LISTED, GIVEN = "as in its list of models", "as given to `vllm serve`"
ANY, DEPLOYED = "any name: the server has one model", "the deployment's name"
# By the name under which examples put each into PARLEY_MODEL_SERVERS.
PROVIDERS: Mapping[str, Provider] = {
    "ollama": Provider("Ollama", "http://127.0.0.1:11434/v1", False, "llama3.2", "as in `ollama list`"),
    "vllm": Provider("vLLM", "http://HOST:8000/v1", False, "meta-llama/Llama-3.1-8B-Instruct", GIVEN),
    "llamacpp": Provider("llama.cpp (llama-server)", "http://127.0.0.1:8080/v1", False, "llama-3.1-8b", ANY),
    "openrouter": Provider(
        "OpenRouter", "https://openrouter.ai/api/v1", True, "meta-llama/llama-3.1-8b-instruct", LISTED
    ),
    "azure": Provider("Azure OpenAI", "https://RESOURCE.openai.azure.com/openai/v1", True, "my-deployment", DEPLOYED),
    "mistral": Provider("Mistral", "https://api.mistral.ai/v1", True, "mistral-small-latest", LISTED, {"usage": False}),
    "deepseek": Provider("DeepSeek", "https://api.deepseek.com", True, "deepseek-v4-flash", LISTED),
    "gemini": Provider(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", True, "gemini-2.5-flash", LISTED
    ),
}


def named(word: str) -> str | None:
    """The provider that a word means, such as `llama.cpp`, `azure-openai` or `Google Gemini`; None if it means none."""
    letters = "".join(filter(str.isalnum, word.lower()))
    return next((name for name in PROVIDERS if name in letters), None)


def how_reached(word: str) -> str:
    if (name := named(word)) is None:
        return (
            f" A server that speaks OpenAI's protocol is reached by `backend: {BACKEND}` with `server: NAME`, and that "
            f"name in {env_name('model_servers')}."
        )
    provider = PROVIDERS[name]
    return (
        f" {provider.title} is reached by `backend: {BACKEND}, server: {name}`, with {provider.setting(name)} in the "
        "settings."
    )
