"""The key of a cell: two things share one only where nothing differs on which a reply depends."""

from dataclasses import replace

from app.backends.base import PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.batch.task import Prompt, key_of, request_parts
from experiments.study.sections.model_spec import ModelSpec

QUESTION = Prompt(
    ModelRef("gpt", ModelSpec(backend="openai", model="gpt-4o")),
    Request("gpt-4o", (PromptMessage("user", "2 + 2?"),), temperature=0.7, max_tokens=10),
)


def key(question):
    return key_of("letter_only", request_parts(question))


def test_every_parameter_makes_another_key():
    request = QUESTION.request
    others = [
        replace(request, model="gpt-4"),
        replace(request, messages=(PromptMessage("system", "2 + 2?"),)),
        replace(request, temperature=0.8),
        replace(request, temperature=None),
        replace(request, max_tokens=11),
        replace(request, options={"top_p": 1}),
        replace(request, schema={"type": "object"}),
    ]
    keys = {key(QUESTION), *(key(replace(QUESTION, request=other)) for other in others)}
    elsewhere = replace(QUESTION, asked=ModelRef("gpt", ModelSpec(backend="openai", model="gpt-4o", server="lab")))
    assert len(keys | {key(elsewhere)}) == len(others) + 2
