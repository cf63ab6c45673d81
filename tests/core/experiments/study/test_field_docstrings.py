"""Docstrings under fields are read where they are shown, and by no class that is made."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from experiments.study.base_model import StrictModel
from experiments.study.field_docstrings import DocumentedSchema


class Inner(StrictModel):
    size: int = 0
    """How large."""
    bare: str = ""


class Outer(Inner):
    kind: Annotated[str, Field(description="of its type")] = ""
    """Which one,
    in words."""
    parts: tuple[Inner, ...] = Field((), alias="of")
    """What is in it."""


def test_the_docstring_is_the_description_whoever_declares_the_field() -> None:
    schema = Outer.model_json_schema(schema_generator=DocumentedSchema)
    found = {name: field.get("description") for name, field in schema["properties"].items()}
    assert found == {"size": "How large.", "bare": None, "kind": "Which one,\nin words.", "of": "What is in it."}
    assert schema["$defs"]["Inner"]["properties"]["size"]["description"] == "How large."
