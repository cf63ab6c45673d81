"""Which server a word means."""

import pytest

from app.backends.providers import named


@pytest.mark.parametrize(
    ("word", "name"),
    [("ollama", "ollama"), ("Ollama", "ollama"), ("llama.cpp", "llamacpp"), ("azure-openai", "azure"), ("groq", None)],
)
def test_a_server_is_known_by_its_name(word: str, name: str | None) -> None:
    assert named(word) == name
