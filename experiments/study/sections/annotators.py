"""Annotators in a study file or a file of annotators: a prompt, and the JSON schema of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from experiments.errors import suggestion
from experiments.study.base_model import Slug, StrictModel, Values
from experiments.study.texts import names

RIGHT = "right"
SAID = ("conversation", "transcript", "first_message")
NAMES = (*SAID, "question", "options", "problem", "chosen", RIGHT)


class AnnotatorSpec(StrictModel):
    """An annotator of the study's own: a prompt by which a model labels each finished conversation."""

    prompt: str
    """The prompt. It can use `{{conversation}}`, `{{transcript}}` (in ChatBench's form) or `{{first_message}}`;
    `{{question}}`, `{{options}}` or both as `{{problem}}`; `{{chosen}}`, the participant's answer; and `{{right}}`,
    the correct one."""
    answer_schema: Values | None = None
    """The JSON schema of the answer, an object. The `description` of a property explains it to models and people.
    Left out under the name of one of Parley's annotators."""
    system: str = ""
    """The system prompt; empty for none."""
    describe_format: bool = True
    """True if a description of the answer's format follows after the prompt. Turn it off if the prompt contains one."""
    model: str = ""
    """The model: one of the study's, or `backend:name[@server]`. `--model` on the command line takes precedence."""
    instructions: str = ""
    """The instructions for people who verify its labels by hand."""
    unit: Literal["conversation", "session"] = "conversation"
    """The unit of a label: each conversation, or all of a participant's together."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """The sampling temperature."""
    max_tokens: Annotated[int, Field(ge=1)] = 1000
    """The maximum length of a reply, in tokens."""

    @field_validator("prompt")
    @classmethod
    def _names_something(cls, prompt: str) -> str:
        placeholders = list(names(prompt))
        for name in placeholders:
            if name not in NAMES:
                raise ValueError(f"uses the unknown name {name!r}{suggestion(name, NAMES)}")
        if not set(SAID) & set(placeholders):
            words = "contains neither {{conversation}}, {{transcript}} nor {{first_message}}"
            raise ValueError(f"{words}, so there is nothing to judge")
        return prompt

    @field_validator("answer_schema")
    @classmethod
    def _usable(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None and (fault := schema_issue(schema)):
            raise ValueError(fault)
        return schema

    @model_validator(mode="after")
    def _of_one(self) -> AnnotatorSpec:
        own = set(names(self.prompt)) - set(SAID)
        if self.unit == "session" and own:
            raise ValueError(f"is about a session, which has no single {sorted(own)[0]!r}")
        return self


class AnnotatorsFile(StrictModel):
    """A file of annotators, for conversations that already exist."""

    annotators: dict[Slug, AnnotatorSpec]
    """The annotators, by name."""


def schema_issue(schema: Mapping[str, Any]) -> str:
    """The error in the JSON schema of an annotator's answer; empty if it is valid."""
    from jsonschema import Draft202012Validator, SchemaError  # only who has such annotators waits for it

    try:
        Draft202012Validator.check_schema(schema, Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        return f"is not a JSON schema: {error.message}"
    properties = schema.get("properties")
    if schema.get("type") != "object" or not properties:
        return "must be of `type: object` with `properties`, one for each label"
    if _refers(schema):
        return "must not use `$ref`: write out the definition"
    return ""


def _refers(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "$ref" in value or "$dynamicRef" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))
